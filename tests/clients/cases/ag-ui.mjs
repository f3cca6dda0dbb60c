// {"client":"@ag-ui/client","protocol":"ag_ui","packages":["@ag-ui/client@1.0.0"]}
import { HttpAgent } from "@ag-ui/client";
import { baseURL as url, done, equal, fails, headers, isStopped } from "./check.mjs";

const agent = new HttpAgent({
  url,
  threadId: crypto.randomUUID(),
  headers: { ...headers, "X-Doorward-Disconnect": "stop" },
});
const ask = (content, subscriber) => {
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
  return agent.runAgent({}, subscriber);
};
await ask("hello");
equal("reply", agent.messages.at(-1).content, "you said hello");
await ask("history");
equal("history", agent.messages.at(-1).content, "before: hello, you said hello");
await fails("errors", () => ask("fail"));
const onTextMessageContentEvent = () => agent.abortRun();
await ask("slow", { onTextMessageContentEvent }).catch(() => undefined);
equal("stop", await isStopped(), true);
done();
