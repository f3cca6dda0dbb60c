// Answers messages until it is killed. Prints the id of each message whose complete answer is stored.
// One more answer grows all the time.
import { randomBytes } from "node:crypto";
import { openSqliteStore } from "../../../dist/plugins/conversations/sqlite/index.js";

const nothing = () => {};
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const clock = { now: Date.now, monotonic: () => performance.now(), setTimeout, clearTimeout };
const [, , path, growing] = process.argv;
const { store } = await openSqliteStore({ path, clock, log, random: randomBytes });

const append = (session, kind, payload, fields) =>
  new Promise((resolve, reject) => {
    const frame = new TextEncoder().encode(JSON.stringify({ type: `message.${kind}`, payload }));
    const entry = { type: `message.${kind}`, final: true, ...fields, frame };
    const done = (error) => (error ? reject(error) : resolve());
    store.append({ channel: "pico", session }, randomBytes(8).toString("hex"), entry, done);
  });

const start = { message_id: "grows", content: "" };
await append("grows", "create", start, { message: "grows", final: false });
const frame = { type: "message.update", payload: { message_id: "grows", content: growing } };
const grow = () => new TextEncoder().encode(JSON.stringify(frame));
setInterval(() => store.grow({ channel: "pico", session: "grows" }, "grows", grow), 100);

for (let count = 1; ; count++) {
  const id = `${process.pid}-${count}`;
  await append("s", "user", { content: id, request_id: id }, { request: id });
  const fields = { message: `m${id}`, answers: id };
  await append("s", "create", { message_id: `m${id}`, content: `re ${id}` }, fields);
  process.stdout.write(`${id}\n`);
  await new Promise((resolve) => setTimeout(resolve, 2));
}
