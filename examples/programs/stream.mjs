// Streams a reply word by word. Sessions run in parallel.
import { createInterface } from "node:readline";
import { setTimeout as after } from "node:timers/promises";

const say = (type, payload) => console.log(JSON.stringify({ type, payload }));

async function reply({ id: request_id, payload }) {
  say("message.ack", { request_id }); // accepted: the next message of the session may follow
  const message_id = `reply-${request_id}`;
  let content = "You asked:";
  say("message.create", { request_id, message_id, content, final: false });
  for (const word of payload.content.split(" ")) {
    await after(50);
    content += ` ${word}`;
    say("message.update", { message_id, content });
  }
  say("message.update", { message_id, content: `${content}.`, final: true });
}

for await (const line of createInterface({ input: process.stdin })) void reply(JSON.parse(line));
