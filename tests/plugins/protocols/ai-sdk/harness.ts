// Starts a service with the AI SDK protocol, and loads the clients of the AI SDK.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startProtocols, tokens, type ServiceOptions } from "../../../support/protocol-service.ts";
import { optional } from "../../../support/tools.ts";

export { echo, tokens, type Handler } from "../../../support/protocol-service.ts";

/** Starts the service, with the base URL of this protocol. */
export async function startAiSdk(options?: ServiceOptions) {
  const service = await startProtocols(options);
  return Object.assign(service, { base: service.kernel.services.aiSdk.status().url! });
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
  readonly toolCallId?: string;
  readonly title?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly approval?: { readonly id: string };
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
  addToolOutput(output: object): Promise<void>;
  addToolApprovalResponse(response: object): Promise<void>;
}

interface PageToolCall {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly input: unknown;
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
  readonly lastAssistantMessageIsCompleteWithToolCalls: unknown;
  readonly lastAssistantMessageIsCompleteWithApprovalResponses: unknown;
  readonly asSchema: (schema: unknown) => Schema;
}

const modules = fileURLToPath(new URL("../../../clients/node_modules", import.meta.url));
export const isInstalled =
  optional(
    existsSync(join(modules, "ai-7")) || undefined,
    "the npm packages of the AI SDK (npm ci --prefix tests/clients)",
  ) ?? false;
/** Major versions of the package `ai`. */
export const versions = ["6", "7"] as const;

/** Loads the unmodified packages of one major version. */
export async function loadLibrary(version: string): Promise<Library> {
  const load = async (...path: string[]): Promise<Library> =>
    (await import(pathToFileURL(join(modules, ...path, "dist", "index.js")).href)) as Library;
  const ai = await load(`ai-${version}`);
  const { Chat } = await load("@ai-sdk", `react-${version}`);
  return { ...ai, Chat };
}

export const authorization = { Authorization: `Bearer ${tokens.ai_sdk}` };

interface ChatOptions {
  readonly id: string;
  readonly base: string;
  /** Options of the transport. */
  readonly transport?: object;
  readonly messages?: readonly UiMessage[];
  readonly sendAutomaticallyWhen?: unknown;
  readonly onToolCall?: (given: { readonly toolCall: PageToolCall }) => void;
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
