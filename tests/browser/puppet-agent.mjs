// A program that writes the lines that a test sends to the session `control`, and nothing else.
import { createInterface } from "node:readline";

const write = (type, payload) => process.stdout.write(`${JSON.stringify({ type, payload })}\n`);

/** Ids of the messages, by session and content. */
const ids = new Map();
write("ready", { can: ["stop"] });
for await (const line of createInterface({ input: process.stdin })) {
  const { type, id, session_id: session, payload } = JSON.parse(line);
  if (type === "message.stop") write("message.ack", { request_id: id, final: true });
  if (type !== "message.send") continue;
  if (session !== "control") {
    ids.set(`${session} ${payload.content}`, id);
    continue;
  }
  const { to, about, lines, exit } = JSON.parse(payload.content);
  if (exit !== undefined) process.exit(exit);
  const request_id = ids.get(`${to} ${about}`);
  for (const [name, fields] of lines) write(name, { request_id, ...fields });
  write("message.create", { request_id: id, content: request_id ?? "" });
}
