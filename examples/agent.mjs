// An agent in Node. Run it: doorward run -- node examples/agent.mjs
import { agent } from "doorward/agent";

agent(async function* (message, answer) {
  if (message.content.startsWith("delete ")) {
    const isAllowed = await answer.allow(`Delete ${message.content.slice(7)}?`);
    yield isAllowed ? "Deleted." : "Kept.";
  } else {
    yield `you said ${message.content}`;
  }
});
