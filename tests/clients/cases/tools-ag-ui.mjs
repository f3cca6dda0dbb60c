// {"client":"@ag-ui/client (tools)","protocol":"ag_ui","application":"tools.py","packages":["@ag-ui/client@1.0.0"]}
import { HttpAgent } from "@ag-ui/client";
import { baseURL as url, done, equal, headers } from "./check.mjs";

const parameters = { type: "object", properties: { city: { type: "string" } } };
const tools = [{ name: "weather", description: "Weather of a city", parameters }];
const agent = new HttpAgent({ url, threadId: crypto.randomUUID(), headers });
agent.addMessage({ id: crypto.randomUUID(), role: "user", content: "Rome" });
await agent.runAgent({ tools });
const [call] = agent.messages.at(-1).toolCalls;
equal(
  "tools",
  [call.function.name, JSON.parse(call.function.arguments)],
  ["weather", { city: "Rome" }],
);
agent.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: call.id, content: "sunny" });
await agent.runAgent({ tools });
equal("tools", agent.messages.at(-1).content, "The client says: sunny");
done();
