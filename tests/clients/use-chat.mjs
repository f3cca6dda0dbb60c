// A conversation with `useChat`, which the cases of several versions of the AI SDK share.
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { baseURL, done, equal, headers, isStopped } from "./check.mjs";

/** Talks to the service, and reports what works. */
export async function converse() {
  const transport = new DefaultChatTransport({
    api: baseURL,
    headers: { ...headers, "X-Doorward-Disconnect": "stop" },
  });
  const chat = new Chat({ id: crypto.randomUUID(), transport, onError: () => undefined });
  const text = () =>
    chat.messages
      .at(-1)
      .parts.map((part) => part.text ?? "")
      .join("");

  await chat.sendMessage({ text: "hello" });
  equal("reply", text(), "you said hello");
  await chat.sendMessage({ text: "history" });
  equal("history", text(), "before: hello, you said hello");
  await chat.sendMessage({ text: "fail" });
  equal("errors", chat.error?.message.includes("The kettle is broken."), true);
  const slow = chat.sendMessage({ text: "slow" });
  while (!text().includes("begun")) await new Promise(setImmediate);
  await chat.stop();
  await slow;
  equal("stop", await isStopped(), true);
  done();
}
