// A service that writes down what it took and what it said, so that nothing of that ends with the process: arguments
// are a JSON object. It goes on saying numbers where the process before it ended; a line on standard input is said too.
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
