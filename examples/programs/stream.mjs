// Streams a reply word by word until it is stopped. Sessions run in parallel.
import { createInterface } from "node:readline";
import { setTimeout as after } from "node:timers/promises";

const say = (type, payload) => console.log(JSON.stringify({ type, payload }));
const stopped = new Set();

async function reply({ id: request_id, payload }, message_id = `reply-${request_id}`) {
  say("message.ack", { request_id }); // accepted: the next message of the session may follow
  say("message.create", { request_id, message_id, content: "You asked:", final: false });
  for (const word of payload.content.split(" ")) {
    await after(50);
    if (stopped.delete(request_id)) return say("message.ack", { request_id, final: true });
    say("message.append", { message_id, content: ` ${word}` });
  }
  say("message.append", { message_id, content: ".", final: true });
}

say("ready", { can: ["stop"] });
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.type === "message.send") void reply(message);
  if (message.type === "message.stop") stopped.add(message.id);
}
