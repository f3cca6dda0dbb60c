// Opens a store after a new start of the machine, and prints what it has of one stream as JSON.
import { randomBytes } from "node:crypto";
import { openSqliteStore } from "../../../dist/plugins/conversations/sqlite/index.js";

const nothing = () => {};
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const clock = { now: Date.now, monotonic: () => performance.now(), setTimeout, clearTimeout };
const [, , path, durability] = process.argv;
const address = { channel: "pico", session: "s" };
const boot = randomBytes(8).toString("hex");
const options = { path, durability, clock, log, random: randomBytes, boot };
const { store, release } = await openSqliteStore(options);
const stream = store.load(address);
const found = {
  seq: stream?.seq ?? 0,
  epoch: stream?.epoch,
  last: stream?.frames.at(-1)?.seq ?? 0,
  turns: store.history.find(address)?.turns ?? 0,
};
await store.close();
await release();
process.stdout.write(JSON.stringify(found));
