// A service that is only a client: sends numbers and prints their receipts and all received events,
// one JSON array per line. Its clock runs twenty times as fast, which shortens the backoffs.
import { createKernel } from "doorward";
import { picoClient } from "doorward/plugins/pico-client";
import { memory, tokenStore } from "doorward/plugins/token-store";

const { url, token, session, count, everyMs = 12 } = JSON.parse(process.argv[2]);
const clock = {
  now: () => Date.now() * 20,
  monotonic: () => performance.now() * 20,
  setTimeout: (run, ms) => setTimeout(() => run(), ms / 20),
  clearTimeout: (id) => clearTimeout(id),
};
const print = (...news) => process.stdout.write(`${JSON.stringify(news)}\n`);
const silent = () => undefined;

const kernel = createKernel(
  [tokenStore(memory({ pico_client: token })), picoClient({ sessionId: session })],
  {
    clock,
    log: { debug: silent, info: silent, warn: silent, error: console.error },
    config: { "channels.pico_client": { enabled: true, url } },
  },
);
kernel.on("pico-client:link-changed", ({ to, reason }) => print("link", to, reason));
await kernel.start();
const link = kernel.services.picoLink;
link.listen({
  onMessage: ({ content }) => print("heard", content),
  onGap: ({ from, to, reason }) => print("gap", reason, from, to),
});

let sent = 0;
const timer = setInterval(() => {
  if (sent >= count) return clearInterval(timer);
  sent += 1;
  const content = String(sent);
  return void link.send({ content, id: `m${content}` }).then(
    ({ status }) => print(status, content),
    ({ code }) => print("refused", content, code),
  );
}, everyMs);
process.once("SIGTERM", () => void kernel.stop().then(() => process.exit(0)));
