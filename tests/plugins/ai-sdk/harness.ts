// Starts a service with the AI SDK protocol, and loads the clients of the AI SDK.
import { existsSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createKernel } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { aiSdk } from "../../../plugins/ai-sdk/index.ts";
import {
  application,
  channels,
  type InboundMessage,
  type Message,
} from "../../../plugins/channels/index.ts";
import { conversations } from "../../../plugins/conversations/index.ts";
import { http } from "../../../plugins/http/index.ts";
import { picoServer } from "../../../plugins/pico-server/index.ts";
import { memory, tokenStore } from "../../../plugins/token-store/index.ts";
import { optional } from "../../support/tools.ts";

export const tokens = { ai_sdk: "ai-sdk-".repeat(8), pico: "pico-".repeat(10) };

export type Handler = (message: Message) => Promise<unknown> | void;
export const echo: Handler = ({ content, reply }) => reply({ content: `you said ${content}` });

interface ServiceOptions {
  readonly config?: object;
  /** Folder of a durable store. @defaultValue none */
  readonly home?: string;
}

/** Starts the service on a free port. Its application runs `handler`, which a test may replace. */
export async function startAiSdk({ config = {}, home }: ServiceOptions = {}) {
  const received: InboundMessage[] = [];
  const state = { handler: echo };
  const { log, lines } = createCapturedLog();
  const kernel = createKernel(
    [
      tokenStore(memory(tokens)),
      conversations(home === undefined ? {} : { home }),
      channels(),
      http({ port: 0 }),
      picoServer(),
      aiSdk(),
      application(async (message) => {
        received.push(message);
        await state.handler(message);
      }),
    ],
    {
      log,
      config: {
        "channels.pico": { enabled: true, drain_timeout: 0 },
        "channels.ai_sdk": { enabled: true, message_rate: 0, max_requests: 1_000, ...config },
      },
    },
  );
  await kernel.start();
  const { aiSdk: service, channels: channelsService } = kernel.services;
  return {
    base: service.status().url!,
    status: service.status,
    channels: channelsService,
    received,
    state,
    lines,
    kernel,
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
}
export type Service = Awaited<ReturnType<typeof startAiSdk>>;

/** A part of a message, as far as the tests read it. */
export interface UiPart {
  readonly type: string;
  readonly text?: string;
  readonly state?: string;
  readonly url?: string;
  readonly mediaType?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly data?: unknown;
}
export interface UiMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly UiPart[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}
export interface Chat {
  messages: UiMessage[];
  readonly status: string;
  readonly error: Error | undefined;
  sendMessage(message: object, options?: object): Promise<void>;
  regenerate(options?: object): Promise<void>;
  resumeStream(): Promise<void>;
  stop(): Promise<void>;
}
type Create<T> = new (options: object) => T;
interface Schema {
  readonly validate: (value: unknown) => Promise<{ success: boolean }> | { success: boolean };
}
/** The exports of both packages that the tests use. */
export interface Library {
  readonly Chat: Create<Chat>;
  readonly DefaultChatTransport: Create<object>;
  readonly uiMessageChunkSchema: unknown;
  readonly asSchema: (schema: unknown) => Schema;
}

const modules = fileURLToPath(new URL("../../clients/node_modules", import.meta.url));
const isInstalled = existsSync(join(modules, "ai-7"));
export const versions =
  optional(
    isInstalled ? ["6", "7"] : undefined,
    "the npm packages of the AI SDK (npm ci --prefix tests/clients)",
  ) ?? [];

/** Loads the unmodified packages of one major version. */
export async function loadLibrary(version: string): Promise<Library> {
  const load = async (...path: string[]): Promise<Library> =>
    (await import(pathToFileURL(join(modules, ...path, "dist", "index.js")).href)) as Library;
  const ai = await load(`ai-${version}`);
  const { Chat } = await load("@ai-sdk", `react-${version}`);
  const { DefaultChatTransport, uiMessageChunkSchema, asSchema } = ai;
  return { Chat, DefaultChatTransport, uiMessageChunkSchema, asSchema };
}

export const authorization = { Authorization: `Bearer ${tokens.ai_sdk}` };

interface ChatOptions {
  readonly id: string;
  readonly base: string;
  /** Options of the transport. */
  readonly transport?: object;
  readonly messages?: readonly UiMessage[];
  readonly onData?: (part: UiPart) => void;
  readonly onFinish?: (end: { isAbort: boolean; finishReason?: string }) => void;
}

/** Creates a chat of the library. Its errors are in `chat.error`. */
export function createChat(
  { Chat: Constructor, DefaultChatTransport }: Library,
  { base, transport, ...options }: ChatOptions,
): Chat {
  return new Constructor({
    ...options,
    transport: new DefaultChatTransport({
      api: `${base}/chat`,
      headers: authorization,
      ...transport,
    }),
    onError: () => undefined,
  });
}

export const partsOf = ({ messages }: Chat): readonly UiPart[] => messages.at(-1)?.parts ?? [];
export const textOf = (chat: Chat, type = "text"): string =>
  partsOf(chat)
    .filter((part) => part.type === type)
    .map(({ text }) => text)
    .join("");

/** Forwards connections to the service until `cut` breaks them. */
export async function startCutter(base: string) {
  const { port: target } = new URL(base);
  const sockets = new Set<Socket>();
  const server = createServer((inbound) => {
    const outbound = connect(Number(target), "127.0.0.1");
    for (const socket of [inbound, outbound]) {
      sockets.add(socket);
      socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
    }
    inbound.pipe(outbound).pipe(inbound);
    inbound.once("close", () => outbound.destroy());
    outbound.once("close", () => inbound.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    base: base.replace(`:${target}`, `:${(server.address() as AddressInfo).port}`),
    cut,
    [Symbol.asyncDispose]: async () => {
      cut();
      server.close();
    },
  };
}
