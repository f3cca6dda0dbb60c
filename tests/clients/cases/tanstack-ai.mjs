// {"client":"TanStack AI","protocol":"ag_ui","packages":["@tanstack/ai-client@0.33.2"]}
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";
import { baseURL, done, equal, headers, isStopped } from "./check.mjs";

const client = new ChatClient({
  connection: fetchServerSentEvents(baseURL, {
    headers: { ...headers, "X-Doorward-Disconnect": "stop" },
  }),
});
const text = () =>
  client
    .getMessages()
    .at(-1)
    .parts.map((part) => part.content ?? "")
    .join("");
await client.sendMessage("hello");
equal("reply", text(), "you said hello");
await client.sendMessage("history");
equal("history", text(), "before: hello, you said hello");
const slow = client.sendMessage("slow");
while (!text().includes("begun")) await new Promise(setImmediate);
client.stop();
await slow;
equal("stop", await isStopped(), true);
done();
