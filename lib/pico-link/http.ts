// Reads attachments and the history over HTTP, with the token on the origin of the server only.
import type { Attachment } from "../pico-wire/index.ts";
import { authorization } from "./dial.ts";
import { chatError } from "./errors.ts";
import { toEntries, toToolCalls, toUsage } from "./received-values.ts";
import type { ChatEnd, ChatMessage, ChatToolCall, ChatUsage, Clock } from "./types.ts";

/** Limits of `fetchMedia`. */
export interface MediaLimits {
  /** Bytes. @defaultValue 20 MiB */
  readonly maxBytes?: number;
  /** Milliseconds. @defaultValue 30,000 */
  readonly timeoutMs?: number;
}

export interface HttpSource {
  /** `http:` or `https:` address of the server. */
  readonly base: string;
  readonly token: () => string | Promise<string>;
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly clock: Clock;
}

/**
 * Sends a GET request and reads the response. The token is sent to the server only: requests to
 * other origins have no token, and a redirect from the server is an error.
 *
 * @throws ChatError of `read`; `failure` for anything else, with the cause.
 */
async function request<T>(
  { base, token, fetch = globalThis.fetch, clock }: HttpSource,
  url: string,
  { timeoutMs, failure }: { readonly timeoutMs: number; readonly failure: string },
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = clock.setTimeout(() => controller.abort(), timeoutMs);
  try {
    const isOwn = new URL(url).origin === new URL(base).origin;
    const response = await fetch(url, {
      ...(isOwn && { headers: authorization(await token()), redirect: "error" }),
      signal: controller.signal,
    });
    return await read(response);
  } catch (cause) {
    if ((cause as Error).name === "ChatError") throw cause;
    throw Object.assign(chatError(failure), { cause });
  } finally {
    clock.clearTimeout(timer);
    controller.abort();
  }
}

/**
 * Fetches an attachment.
 *
 * @throws ChatError `media_too_large`; `media_unavailable` for anything else, with the cause.
 */
export const fetchMedia = (
  { url }: Attachment,
  source: HttpSource,
  { maxBytes = 20 * 1024 * 1024, timeoutMs = 30_000 }: MediaLimits = {},
): Promise<Blob> =>
  request(source, url, { timeoutMs, failure: "media_unavailable" }, async (response) => {
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    const reader = response.body!.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      size += part.value.length;
      if (size > maxBytes) throw chatError("media_too_large");
      parts.push(part.value);
    }
    return new Blob(parts, { type: response.headers.get("content-type") ?? "" });
  });

/** A message of one side with its latest text. */
export interface HistoryTurn {
  /** Id of the message. */
  readonly id: string;
  /** Position in the conversation. */
  readonly seq: number;
  /** `user`: a client wrote it. `assistant`: the application wrote it. `tool`: a client sent the
   *  results of tools. */
  readonly role: "user" | "assistant" | "tool";
  /** The latest text. Empty if the turn has only attachments. */
  readonly content: string;
  /** The kind of its content, as in a message. A turn of the role `user` is `text`. */
  readonly kind: ChatMessage["kind"];
  /** `false` if the application ended before the final text. */
  readonly complete?: false;
  /**
   * How the answer to a turn of the role `user` ended. Absent if it runs, or if the server does not
   * know its end: see `docs/pico.md`.
   */
  readonly outcome?: ChatEnd["outcome"];
  /** Code of the error, with the outcome `failed`. */
  readonly code?: string;
  /** Tokens of the answer, if the application named them. */
  readonly usage?: ChatUsage;
  /** Messages to offer next, if the application named some. */
  readonly suggestions?: readonly string[];
  /** Milliseconds from the arrival of a turn of the role `user` to the end of its answer. */
  readonly answerMs?: number;
  /** The id that its client gave a turn of the role `user`. */
  readonly requestId?: string;
  /** `requestId` of the turn that this turn of the role `user` is a new version of. */
  readonly replaces?: string;
  /** Id of the message that this turn answers. */
  readonly inReplyTo?: string;
  /** The calls of a turn of the kind `tool_calls`; empty without any. */
  readonly toolCalls: readonly ChatToolCall[];
  /** The steps of a turn of the kind `plan`. */
  readonly entries?: ChatMessage["entries"];
  /** The results of a turn of the role `tool`, by the ids of their calls. */
  readonly toolResults?: readonly {
    readonly id: string;
    readonly name?: string;
    readonly content: string;
    readonly isError?: boolean;
  }[];
  /** The author of a turn of the role `user`, as the server knows it. */
  readonly sender?: { readonly id: string; readonly name?: string };
  /** Files of the turn; absent without any. */
  readonly attachments?: readonly Attachment[];
  /** Name of the language model. */
  readonly model?: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** A page of turns. */
export interface HistoryPage {
  /** Oldest first. */
  readonly items: readonly HistoryTurn[];
  /** Pass it as `before` to read earlier turns; absent if there are none. */
  readonly before?: string;
}

/** Selects a page of history. */
export interface HistoryOptions {
  /** The `before` of the previous page. @defaultValue the end of the conversation */
  readonly before?: string;
  /** 1 to 200. @defaultValue `50` */
  readonly limit?: number;
}

const historyTimeoutMs = 30_000;

/** A turn as the server sends it. */
type WireTurn = Omit<HistoryTurn, "kind" | "toolCalls" | "usage" | "entries"> & {
  readonly kind?: HistoryTurn["kind"];
  readonly toolCalls?: unknown;
  readonly entries?: unknown;
  readonly usage?: unknown;
};

interface Body {
  readonly turns?: readonly WireTurn[];
  readonly before?: string;
  readonly error?: string;
  readonly message?: string;
}

function toTurn(turn: WireTurn): HistoryTurn {
  const { kind = "text", toolCalls, entries, usage: given, ...rest } = turn;
  const usage = toUsage(given);
  return {
    ...rest,
    kind,
    toolCalls: Array.isArray(toolCalls) ? toolCalls.flatMap(toToolCalls) : [],
    ...(Array.isArray(entries) && { entries: entries.flatMap(toEntries) }),
    ...(usage && { usage }),
  };
}

export async function readHistory(
  source: HttpSource,
  sessionId: string,
  options: HistoryOptions = {},
): Promise<HistoryPage> {
  const url = new URL(source.base);
  const { searchParams } = url;
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, "").replace(/\/ws$/, "")}/history`;
  if (!searchParams.has("session_id")) searchParams.set("session_id", sessionId);
  if (!searchParams.has("pico_can")) searchParams.set("pico_can", "notices");
  for (const [name, value] of Object.entries(options)) searchParams.set(name, String(value));
  return request(
    source,
    url.href,
    { timeoutMs: historyTimeoutMs, failure: "history_unavailable" },
    async (body) => {
      const { error, message, turns, before } = (await body.json()) as Body;
      if (error) throw chatError(error, message);
      if (!Array.isArray(turns)) throw new Error("no turns");
      return {
        items: turns.map((turn) => resolvePaths(toTurn(turn), url)),
        ...(before && { before }),
      };
    },
  );
}

/** Stored files have a path on the server. */
function resolvePaths(turn: HistoryTurn, base: URL): HistoryTurn {
  if (!Array.isArray(turn.attachments)) return turn;
  const attachments = turn.attachments.map((attachment) =>
    /^\/(?![/\\\s])/.test(attachment.url)
      ? { ...attachment, url: new URL(attachment.url, base).href }
      : attachment,
  );
  return { ...turn, attachments };
}
