// Starts a service with everything that has a wire, whose time, random bytes and answers a test sets.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fromFiles } from "../../config/index.ts";
import { createKernel, type AnyPlugin } from "../../kernel/index.ts";
import { createCapturedLog, createStoppedClock } from "../../kernel/testing.ts";
import { agUi } from "../../plugins/protocols/ag-ui/index.ts";
import { aiSdk } from "../../plugins/protocols/ai-sdk/index.ts";
import { application, channels, type Message } from "../../plugins/channels/index.ts";
import { conversations } from "../../plugins/conversations/index.ts";
import { dashboard } from "../../plugins/dashboard/index.ts";
import { http } from "../../plugins/http/index.ts";
import { openai } from "../../plugins/protocols/openai/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { settings } from "../../plugins/settings/index.ts";
import { tokenStore } from "../../plugins/token-store/index.ts";

/** Tokens that look unlike generated ones, so that files show them as they are. */
export const tokens = {
  launcher: "launcher-token-of-the-golden-files-0123456789",
  pico: "pico-token-of-the-golden-files-0123456789-abcd",
  openai: "openai-token-of-the-golden-files-0123456789-a",
  ai_sdk: "ai-sdk-token-of-the-golden-files-0123456789-a",
  ag_ui: "ag-ui-token-of-the-golden-files-0123456789-ab",
};

export const bearer = (token: string): string => `Authorization: Bearer ${token}`;

/** Answers one message. */
type Answer = (message: Message) => unknown;

/** A message whose application is the script. */
export interface TakenMessage extends Message {
  /** Returns from the application, or throws the error. */
  finish(error?: Error): void;
}

interface ServiceOptions {
  /** Changes of the section `channels.pico`. */
  readonly pico?: object;
  /** Changes of the sections of the other protocols. */
  readonly protocols?: object;
  /** Keeps conversations in memory. */
  readonly inMemory?: boolean;
  /** Starts without a launcher token. */
  readonly setup?: boolean;
}

const logLine = { at: 1_700_000_000_000, level: "warn", text: "a line", fields: { a: 1 } } as const;

/** Returns the same bytes at each start, without repetitions. */
export function createRandom(): (bytes: number) => Uint8Array {
  let state = 0x9e3779b9;
  return (bytes) =>
    Uint8Array.from({ length: bytes }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 24;
    });
}

async function writeHome(home: string, options: ServiceOptions): Promise<void> {
  const { pico, protocols, inMemory, setup } = options;
  const write = (name: string, text: string): Promise<void> =>
    writeFile(join(home, name), text, { mode: 0o600 });
  const protocol = { enabled: true, allow_origins: ["https://page.example"], ...protocols };
  const sections = {
    pico: { enabled: true, allow_origins: ["https://page.example"], ...pico },
    openai: protocol,
    ai_sdk: protocol,
    ag_ui: protocol,
  };
  const store = inMemory ? { store: { kind: "memory" } } : {};
  await write("config.json", JSON.stringify({ channels: sections, ...store }));
  await write("launcher-config.json", setup ? "{}" : `{"launcher_token":"${tokens.launcher}"}`);
  const { launcher: _, ...others } = tokens;
  const lines = Object.entries(others).map(([name, value]) => `  ${name}:\n    token: ${value}\n`);
  await write(".security.yml", `channels:\n${lines.join("")}`);
}

export async function startService(options: ServiceOptions = {}) {
  // Responses contain the path, and their length must not depend on the machine.
  const home = await mkdtemp("/tmp/doorward-");
  await writeHome(home, options);
  const clock = createStoppedClock();
  clock.set(1_700_000_000_000);
  /** Lets time pass, ten times as fast as it does, until the promise has settled. */
  async function run<T>(promise: Promise<T>): Promise<T> {
    let isOver = false;
    const result = promise.finally(() => (isOver = true));
    while (!isOver) {
      clock.increment(10);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return result;
  }
  const { log } = createCapturedLog();
  const answers: Answer[] = [];
  const config = fromFiles(home);
  const socket = join(home, "control.sock");
  const board = dashboard({
    version: "0.0.0",
    log: {
      read: async () => ({ lines: [logLine], truncated: false }),
      async *lines() {
        yield "a line of the log\n";
      },
      follow: () => () => undefined,
    },
    doctor: async () => [
      {
        id: "a-check",
        title: "A check",
        result: "warning",
        reason: "It was found.",
        fix: "Fix it.",
      },
    ],
    local: { socket, note: join(home, "control.json"), pid: 1 },
  });
  const store = conversations({ home });
  const base = [http({ port: 0 }), picoServer(), openai(), aiSdk(), agUi(), board] as const;
  const loaded = await config.load([store, ...base] as readonly AnyPlugin[]);
  const kernel = createKernel(
    [
      tokenStore(config.tokens),
      settings(loaded.sources),
      store,
      channels(),
      ...base,
      application(async (message) => {
        const answer = answers.shift() ?? (({ content, reply }) => reply({ content }));
        await answer(message);
      }),
    ],
    { config: loaded.config, clock, log, random: createRandom() },
  );
  await kernel.start();
  const { channels: channelService, http: httpService } = kernel.services;
  return {
    kernel,
    home,
    socket,
    run,
    /** Waits until no client of the channel is connected. */
    async untilIdle(): Promise<void> {
      while (kernel.services.picoServer.connections().length > 0)
        await new Promise((resolve) => setImmediate(resolve));
    },
    /** Lets this time pass, second by second. */
    async pass(seconds: number): Promise<void> {
      for (let second = 0; second < seconds; second += 1) {
        clock.increment(1_000);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    port: Number(httpService.addresses()[0]!.port),
    channels: channelService,
    /** Sends a request of the owner that is not recorded. Returns the body of the response. */
    async api(method: string, path: string, body?: object): Promise<any> {
      const headers = {
        authorization: `Bearer ${tokens.launcher}`,
        "content-type": "application/json",
      };
      const url = new URL(path, httpService.addresses()[0]);
      const json = body && { body: JSON.stringify(body) };
      return (await fetch(url, { method, headers, ...json })).json();
    },
    /** Answers the next message. Without one, the content is sent back. */
    answer: (answer: Answer) => void answers.push(answer),
    /** Resolves to the next message. */
    take: () =>
      new Promise<TakenMessage>((resolve) => {
        answers.push(
          (message) =>
            new Promise<void>((done, fail) => {
              const finish = (error?: Error): void => (error ? fail(error) : done());
              resolve(Object.assign(Object.create(message), { finish }) as TakenMessage);
            }),
        );
      }),
    async [Symbol.asyncDispose]() {
      await run(kernel.stop());
      await rm(home, { recursive: true, force: true });
    },
  };
}
export type Service = Awaited<ReturnType<typeof startService>>;
