// Starts a service with the OpenAI protocol, and the drivers of the two OpenAI libraries.
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createKernel } from "../../../../kernel/index.ts";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import {
  application,
  channels,
  type Application,
  type InboundMessage,
  type Message,
} from "../../../../plugins/channels/index.ts";
import { dashboard } from "../../../../plugins/dashboard/index.ts";
import { http } from "../../../../plugins/http/index.ts";
import { openai } from "../../../../plugins/protocols/openai/index.ts";
import { picoServer } from "../../../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../../../plugins/token-store/index.ts";
import { optional } from "../../../support/tools.ts";

export const tokens = {
  openai: "openai-".repeat(8),
  pico: "pico-".repeat(10),
  launcher: "launcher-".repeat(6),
};

export type Handler = (message: Message) => Promise<unknown> | void;
export const echo: Handler = ({ content, reply }) => reply({ content: `you said ${content}` });

/** Starts the service on a free port. The application runs `handler`, which a test may replace. */
export async function startOpenai(config: object = {}, handle?: Application) {
  const received: InboundMessage[] = [];
  const state = { handler: echo };
  const app: Application = async (message, signal) => {
    received.push(message);
    await (handle ? handle(message, signal) : state.handler(message));
  };
  const { log, lines } = createCapturedLog();
  const kernel = createKernel(
    [
      tokenStore(memory(tokens)),
      channels(),
      http({ port: 0 }),
      picoServer(),
      openai(),
      application(app),
      dashboard({ version: "0.0.0" }),
    ],
    {
      log,
      config: {
        "channels.pico": { enabled: true, drain_timeout: 0 },
        "channels.openai": { enabled: true, message_rate: 0, ...config },
      },
    },
  );
  await kernel.start();
  const {
    openai: service,
    channels: channelsService,
    tokenSecrets,
    http: server,
  } = kernel.services;
  return {
    base: service.status().url!,
    origin: server.addresses()[0]!.origin,
    status: service.status,
    channels: channelsService,
    secrets: tokenSecrets,
    received,
    state,
    lines,
    kernel,
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
}
export type Service = Awaited<ReturnType<typeof startOpenai>>;

const clients = fileURLToPath(new URL("../../../clients", import.meta.url));
const python = join(clients, ".venv", "bin", "python");
const hasPackage = (name: string): boolean => existsSync(join(clients, "node_modules", name));
const hint = "npm ci --prefix tests/clients";
const pipHint =
  "python3 -m venv tests/clients/.venv; tests/clients/.venv/bin/pip install -r tests/clients/requirements.txt";

/** Version 7 of the library needs Node 22 or newer. This process may have an older one. */
const node22 = process.env["TEST_NODE_22"];
const npmDriver = join(clients, "openai-driver.mjs");

/** Client library -> the command of its driver; undefined if the library is not installed. */
export const drivers = {
  npm: optional(
    hasPackage("openai") ? [process.execPath, npmDriver, "openai"] : undefined,
    `the npm package openai (${hint})`,
  ),
  "npm on Node 22": optional(
    hasPackage("openai-7") && node22 !== undefined ? [node22, npmDriver, "openai-7"] : undefined,
    `the npm package openai (${hint}) and Node 22 (TEST_NODE_22=/path/to/node)`,
  ),
  Python: optional(
    existsSync(python) ? [python, join(clients, "openai-driver.py")] : undefined,
    `the Python package openai (${pipHint})`,
  ),
} satisfies Readonly<Record<string, readonly string[] | undefined>>;

/** The result of a call, as far as the tests read it. */
export interface CallResult {
  readonly text: string;
  readonly reasoning: string;
  readonly finish?: string;
  readonly roles?: readonly string[];
  readonly first?: Readonly<Record<string, unknown>>;
  readonly chunks?: number;
  readonly usage: Readonly<Record<string, number>> | null;
  readonly toolCalls?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly error?: {
    readonly status: number | null;
    readonly code: string | null;
    readonly param: string | null;
    readonly type: string | null;
    readonly message: string;
  };
}

export interface Driver {
  call<T = CallResult>(op: string, call: object): Promise<T>;
  stop(): void;
}

/** Starts the process of a driver. */
export function startDriver([program, ...args]: readonly string[]): Driver {
  const child: ChildProcess = spawn(program!, args, { stdio: ["pipe", "pipe", "inherit"] });
  const pending = new Map<number, (result: unknown) => void>();
  createInterface({ input: child.stdout! }).on("line", (line) => {
    const { id, result } = JSON.parse(line) as { id: number; result: unknown };
    pending.get(id)?.(result);
    pending.delete(id);
  });
  let next = 0;
  return {
    call<T>(op: string, call: object) {
      const id = (next += 1);
      child.stdin!.write(`${JSON.stringify({ id, op, ...call })}\n`);
      return new Promise<T>(
        (resolve) => void pending.set(id, resolve as (result: unknown) => void),
      );
    },
    stop: () => void child.kill(),
  };
}
