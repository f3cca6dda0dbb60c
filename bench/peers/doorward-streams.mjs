// A host with the plugins of the launcher and an application that streams its replies.
import process from "node:process";
import { launcherToken, picoToken } from "../settings.mjs";
import { writeTokens } from "./answer.mjs";

const built = (/** @type {string} */ name) =>
  import(new URL(`../../dist/${name}/index.js`, import.meta.url).href);
/** @type {typeof import("../../kernel/index.ts")} */
const { createKernel } = await built("kernel");
/** @type {typeof import("../../plugins/token-store/index.ts")} */
const { memory, tokenStore } = await built("plugins/token-store");
/** @type {typeof import("../../plugins/channels/index.ts")} */
const { application, channels } = await built("plugins/channels");
/** @type {typeof import("../../plugins/http/index.ts")} */
const { http } = await built("plugins/http");
/** @type {typeof import("../../plugins/pico-server/index.ts")} */
const { picoServer } = await built("plugins/pico-server");
/** @type {typeof import("../../plugins/dashboard/index.ts")} */
const { dashboard } = await built("plugins/dashboard");

const kernel = createKernel(
  [
    tokenStore(memory({ pico: picoToken, launcher: launcherToken })),
    channels(),
    http({ port: Number(process.argv[2]) }),
    picoServer(),
    dashboard(),
    application((message) => {
      const answer = message.stream();
      const { end } = writeTokens(message.content, answer.write);
      void end.then(() => answer.end());
    }),
  ],
  {
    config: {
      "channels.pico": { enabled: true, max_connections: 5_000, message_rate: 0, message_burst: 0 },
    },
  },
);
await kernel.start();
