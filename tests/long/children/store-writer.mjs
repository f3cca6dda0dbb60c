// Writes to a store until it is killed. Prints the last number of each stored batch.
import { randomBytes } from "node:crypto";
import { openSqliteStore } from "../../../dist/plugins/conversations/sqlite/index.js";

const nothing = () => {};
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const clock = { now: Date.now, monotonic: () => performance.now(), setTimeout, clearTimeout };
const [, , path, durability = "process"] = process.argv;
const address = { channel: "pico", session: "s" };
const { store } = await openSqliteStore({ path, durability, clock, log, random: randomBytes });
let seq = store.load(address)?.seq ?? 0;

for (;;) {
  await new Promise((resolve, reject) => {
    const count = 1 + (seq % 20);
    const last = seq + count;
    while (seq < last) {
      const message = `m${++seq}`;
      const frame = { type: "message.create", payload: { message_id: message, content: "text" } };
      const data = new TextEncoder().encode(JSON.stringify(frame));
      const entry = { type: "message.create", message, final: true, frame: data };
      store.append(address, "0123456789abcdef", entry, (error) => {
        if (error) reject(error);
        else resolve();
      });
    }
  });
  process.stdout.write(`${seq}\n`);
}
