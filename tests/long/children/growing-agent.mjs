// A program that accepts each message, begins its answer, and goes on until it is stopped.
import { createInterface } from "node:readline";

const write = (type, payload) => process.stdout.write(`${JSON.stringify({ type, payload })}\n`);

write("ready", { can: ["stop"] });
for await (const line of createInterface({ input: process.stdin })) {
  const { type, id, payload } = JSON.parse(line);
  if (type === "message.stop") write("message.ack", { request_id: id, final: true });
  if (type !== "message.send") continue;
  write("message.ack", { request_id: id });
  write("message.create", { request_id: id, content: `About ${payload.content}`, final: false });
}
