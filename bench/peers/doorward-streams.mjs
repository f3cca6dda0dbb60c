// A host with the plugins of the launcher and an application that streams its replies.
import process from "node:process";
import { launcherToken, picoToken } from "../settings.mjs";
import { writeTokens } from "./answer.mjs";
import {
  application,
  built,
  channels,
  createKernel,
  http,
  memory,
  picoServer,
  tokenStore,
} from "./built.mjs";

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
