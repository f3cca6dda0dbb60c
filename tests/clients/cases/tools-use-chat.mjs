// {"client":"AI SDK 6 (useChat, addToolOutput)","protocol":"ai_sdk","application":"tools.py","packages":["ai@6.0.326","@ai-sdk/react@3.0.327","react@19"]}
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { baseURL, done, equal, headers } from "./check.mjs";

const parameters = { type: "object", properties: { city: { type: "string" } } };
const tools = { weather: { description: "Weather of a city", parameters } };
const asked = [];
let end;
const ended = new Promise((resolve) => void (end = resolve));
const text = () =>
  chat.messages
    .at(-1)
    .parts.map((part) => part.text ?? "")
    .join("");
const chat = new Chat({
  id: crypto.randomUUID(),
  transport: new DefaultChatTransport({ api: baseURL, headers, body: { tools } }),
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
  onToolCall({ toolCall: { toolName: tool, toolCallId, input } }) {
    asked.push([tool, input]);
    void chat.addToolOutput({ tool, toolCallId, output: "sunny" });
  },
  onFinish: () => text() === "" || end(),
  onError: (error) => end(error),
});
await chat.sendMessage({ text: "Rome" });
const error = await ended;
if (error) throw error;
equal("tools", asked, [["weather", { city: "Rome" }]]);
equal("tools", text(), "The client says: sunny");
equal(
  "tools",
  chat.messages.map(({ role }) => role),
  ["user", "assistant"],
);
const part = chat.messages.at(-1).parts.find(({ type }) => type === "tool-weather");
equal("tools", [part.state, part.output], ["output-available", "sunny"]);
done();
