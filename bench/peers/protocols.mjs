// A host with the protocols of other products. The message says what the application answers.
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { picoToken, protocolTokens, token } from "../settings.mjs";
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

/** @type {typeof import("../../plugins/protocols/openai/index.ts")} */
const { openai } = await built("plugins/protocols/openai");
/** @type {typeof import("../../plugins/protocols/ai-sdk/index.ts")} */
const { aiSdk } = await built("plugins/protocols/ai-sdk");
/** @type {typeof import("../../plugins/protocols/ag-ui/index.ts")} */
const { agUi } = await built("plugins/protocols/ag-ui");

/** @typedef {import("../../plugins/channels/index.ts").Message} Message */

/** @param {number} ms */
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const delay = monitorEventLoopDelay({ resolution: 5 });

/** @type {Record<string, (message: Message, count: number) => Promise<unknown>>} */
const answers = {
  /** As fast as the channel takes it. */
  async tokens(message, count) {
    const answer = message.stream();
    for (let at = 0; at < count; at += 1) if (!answer.write(token)) await answer.drained();
    await answer.end();
  },
  /** 400 characters at each update: 40 kB in 100 of them. */
  async updates(message, count) {
    const answer = message.stream();
    for (let at = 0; at < count; at += 1) {
      answer.write("x".repeat(400));
      await pause(110);
    }
    await answer.end();
  },
  /** Stays open until the client leaves or the test stops it. */
  async open(message) {
    const answer = message.stream();
    message.accept();
    answer.write(token);
    await new Promise((done) => message.signal.addEventListener("abort", done));
    await answer.end();
  },
  /** Milliseconds that the event loop was late, 99 of 100 times, since the last question. */
  async lateness(message) {
    const late = delay.percentile(99) / 1e6;
    delay.reset();
    delay.enable();
    await message.reply({ content: String(late) });
  },
};

const limits = { enabled: true, message_rate: 0, message_burst: 0, max_requests: 5_000 };
const kernel = createKernel(
  [
    tokenStore(memory({ pico: picoToken, ...protocolTokens })),
    channels(),
    http({ port: Number(process.argv[2]) }),
    picoServer(),
    openai(),
    aiSdk(),
    agUi(),
    application((message) => {
      const [name = "", count] = message.content.split(" ");
      return answers[name]?.(message, Number(count)).then(() => undefined);
    }),
  ],
  {
    config: {
      "channels.pico": { enabled: true },
      "channels.openai": limits,
      "channels.ai_sdk": limits,
      "channels.ag_ui": limits,
    },
  },
);
await kernel.start();
