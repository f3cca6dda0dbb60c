// An answer that grows, as a language model's does. Several sessions at once: nothing here waits for another.
import { createInterface } from "node:readline";
import { setTimeout as after } from "node:timers/promises";

const say = (type, payload) => console.log(JSON.stringify({ type, payload }));

async function answer({ id: request_id, payload }) {
  say("message.ack", { request_id }); // taken: the next message of this session may come
  const message_id = `answer-${request_id}`;
  let content = "You asked:";
  say("message.create", { request_id, message_id, content, final: false });
  for (const word of payload.content.split(" ")) {
    await after(50);
    content += ` ${word}`;
    say("message.update", { message_id, content });
  }
  say("message.update", { message_id, content: `${content}.`, final: true });
}

for await (const line of createInterface({ input: process.stdin })) void answer(JSON.parse(line));
