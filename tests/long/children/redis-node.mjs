// One server of the pico channel over Redis, as a process of its own. The first line of its output
// is its port; each further line is the id of a message that its application has received.
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import { conversations } from "doorward/plugins/conversations";
import { redis } from "doorward/plugins/redis";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";

const [url = "", prefix = "", secret = "", token = "", delay = "0"] = process.argv.slice(2);

/** Answers in steps, so that a kill hits an answer in the middle. */
async function answer({ id, content, stream }) {
  process.stdout.write(`${id}\n`);
  const growing = stream();
  for (const part of ["re ", content]) {
    growing.write(part);
    await new Promise((resolve) => setTimeout(resolve, Number(delay)));
  }
  await growing.end();
}

const kernel = createKernel(
  [
    tokenStore(memory({ pico: token })),
    conversations({ store: redis({ url, prefix, secret }) }),
    channels(),
    http({ port: 0 }),
    picoServer(),
  ],
  {
    plugins: [application(answer)],
    config: { "channels.pico": { enabled: true, drain_timeout: 1 } },
    log: { debug() {}, info() {}, warn() {}, error() {} },
  },
);
await kernel.start();
process.stdout.write(`${kernel.services.http.addresses("gateway")[0].port}\n`);
process.on("SIGTERM", () => void kernel.stop().then(() => process.exit(0)));
