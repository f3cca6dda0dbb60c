// Loaded into each measured Node server: runs the garbage collector on request, before memory is
// read.
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";

process.on("message", (request) => {
  if (request === "collect") void collect();
});
process.channel?.unref();

async function collect() {
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc?.();
    await wait(100);
  }
  process.send?.("collected");
}
