// Writes to a store until it is killed. Prints the last number of each stored batch.
import { randomBytes } from "node:crypto";
import { openSqliteStorage } from "../../../dist/plugins/conversations/stores/sqlite/index.js";

const nothing = () => {};
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const clock = { now: Date.now, monotonic: () => performance.now(), setTimeout, clearTimeout };
const path = process.argv[2];
const address = { channel: "pico", session: "s" };
const storage = await openSqliteStorage({ path, clock, log, random: randomBytes });
const known = await storage.load(address);
let seq = known?.seq ?? 0;
const streams = known ? [] : [{ ...address, epoch: "0123456789abcdef", seq: 0 }];

for (;;) {
  const entries = Array.from({ length: 1 + (seq % 20) }, () => {
    const message = `m${++seq}`;
    const frame = { type: "message.create", payload: { message_id: message, content: "text" } };
    const data = new TextEncoder().encode(JSON.stringify(frame));
    return { ...address, seq, message, op: "create", final: true, at: Date.now(), frame: data };
  });
  await storage.commit({ streams: streams.splice(0), entries, taken: [], positions: [] });
  process.stdout.write(`${seq}\n`);
}
