// A service that writes all received and sent messages to a journal, which outlives the process.
// The argument is a JSON object. It continues the numbers of the previous process, and also sends
// each line of standard input.
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";

const {
  journal,
  token,
  session,
  port = 0,
  count = 0,
  everyMs = 12,
  config = {},
} = JSON.parse(process.argv[2]);
const before = readFileSync(journal, "utf8").match(/^said \d+$/gm)?.length ?? 0;
const write = (line) => appendFileSync(journal, `${line}\n`);
write("begin");

const kernel = createKernel(
  [
    tokenStore(memory({ pico: token })),
    channels(),
    http({ port }),
    picoServer(),
    application(({ content }) => write(`took ${content}`)),
  ],
  { config: { "channels.pico": { enabled: true, message_rate: 0, ...config } } },
);
kernel.on("pico-server:disconnected", ({ reason }) => console.log(`disconnected ${reason}`));
await kernel.start();
const say = (content) =>
  void kernel.services.channels.send({ channel: "pico", session }, { content: String(content) });

let said = before;
const timer = setInterval(() => {
  if (said >= count) return clearInterval(timer);
  said += 1;
  write(`said ${said}`);
  return say(said);
}, everyMs);
createInterface({ input: process.stdin }).on("line", say);
process.once("SIGTERM", async () => {
  clearInterval(timer);
  await kernel.stop();
  process.exit(0);
});
console.log(`listening ${kernel.services.http.addresses()[0].port}`);
