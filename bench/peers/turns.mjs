// A host that measures the processor time of the turns of its event loop. Arguments: port, store
// (memory, sqlite or redis), application (echo or host), and folder of the file or URL of Redis.
// Prints its longest turn, in milliseconds, when it is asked to stop.
import process from "node:process";
import { picoToken } from "../settings.mjs";
import { application, built, channels, createKernel, http, memory } from "./built.mjs";
import { picoServer, tokenStore } from "./built.mjs";

const [port, store, kind, place] = process.argv.slice(2);

/** @type {typeof import("../../plugins/conversations/index.ts")} */
const { conversations, sqlite } = await built("plugins/conversations");
/** @type {typeof import("../../plugins/redis/index.ts")} */
const { redis } = await built("plugins/redis");

function openStore() {
  if (store === "memory") return {};
  if (store === "sqlite") return { store: sqlite({ path: `${place}/conversations.db` }) };
  return { store: redis({ url: String(place), secret: "bench".padEnd(32, "-") }) };
}

/** @type {import("../../plugins/channels/index.ts").Application} */
const echo = async (message) => {
  await message.reply({ content: message.content });
};
/** @type {import("../../plugins/channels/index.ts").Application} */
const host = (message) => void message.reply({ content: message.content }).catch(() => {});

const kernel = createKernel(
  [
    tokenStore(memory({ pico: picoToken })),
    conversations(openStore()),
    channels(),
    http({ port: Number(port) }),
    picoServer(),
    application(kind === "echo" ? echo : host),
  ],
  { config: { "channels.pico": { enabled: true } } },
);
await kernel.start();

let longest = 0;
let before = process.cpuUsage();
setImmediate(function turn() {
  const { user, system } = process.cpuUsage(before);
  longest = Math.max(longest, (user + system) / 1_000);
  before = process.cpuUsage();
  setImmediate(turn);
});
process.on("message", (what) => {
  if (what === "begin") longest = 0;
  else process.send?.(longest);
});
