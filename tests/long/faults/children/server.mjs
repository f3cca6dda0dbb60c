// A service with a pico channel in a separate process: executes the orders of its parent and
// reports events to it over IPC. The argument is a JSON object; the token is in the environment.
import { readdirSync } from "node:fs";
import { createKernel } from "doorward";
import { application, channels } from "doorward/plugins/channels";
import { http } from "doorward/plugins/http";
import { picoServer } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";

const { config = {} } = JSON.parse(process.argv[2]);
const tell = (news) => void process.send?.(news);
const line = (level) => (fields, text) => {
  if (level !== "debug")
    tell({ line: { level, text, ...(fields.err && { error: String(fields.err) }) } });
};

const kernel = createKernel(
  [
    tokenStore(memory({ pico: process.env.TOKEN })),
    channels(),
    http({ port: 0, host: "127.0.0.1" }),
    picoServer(),
    application(
      async ({ content, reply }) => void (await reply({ content: `you said ${content}` })),
    ),
  ],
  {
    config: { "channels.pico": { enabled: true, ...config } },
    log: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") },
  },
);
kernel.on("pico-server:disconnected", (fact) => tell({ disconnected: fact }));
await kernel.start();
const { channels: speaker, picoServer: pico, http: listener } = kernel.services;

const orders = {
  say: async ({ session, content, bytes }) => {
    const text = bytes === undefined ? content : content.padEnd(bytes, ".");
    return (await speaker.send({ channel: "pico", session }, { content: text })).status;
  },
  now: () => Date.now(),
  connections: () => pico.status().connections,
  queued: () => Math.max(0, ...pico.connections().map(({ queuedBytes }) => queuedBytes)),
  /** Blocks the event loop. */
  stall: ({ ms }) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
  held: async () => {
    // Memory of closed sockets can be collected only some turns later.
    for (let turn = 0; turn < 5; turn++) {
      await new Promise((done) => setTimeout(done, 20));
      globalThis.gc?.();
    }
    const { heapUsed, external, rss } = process.memoryUsage();
    return { bytes: heapUsed + external, rss, files: readdirSync("/proc/self/fd").length };
  },
};
process.on("message", async ({ id, order, ...more }) =>
  tell({ id, answer: await orders[order](more) }),
);
process.once("disconnect", () => process.exit(0));
tell({ port: Number(listener.addresses()[0].port) });
