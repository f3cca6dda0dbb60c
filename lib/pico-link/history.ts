// Reads the history of the conversation over HTTP, with the token.
import type { Attachment } from "../pico-wire/index.ts";
import { linkError } from "./errors.ts";
import { request, type MediaSource } from "./media.ts";

/** A message of one side with its latest text. */
export interface HistoryTurn {
  /** Id of the message. */
  readonly id: string;
  /** Position in the conversation. */
  readonly seq: number;
  /** `user`: a client wrote it. `assistant`: the application wrote it. */
  readonly role: "user" | "assistant";
  /** The latest text. Empty if the turn has only attachments. */
  readonly content: string;
  /** Absent for plain text. */
  readonly kind?: "thought" | "tool_calls";
  /** `false` if the application ended before the final text. */
  readonly complete?: false;
  /** The id that its client gave a turn of the role `user`. */
  readonly requestId?: string;
  /** `requestId` of the turn that this turn of the role `user` is a new version of. */
  readonly replaces?: string;
  /** Id of the message that this turn answers. */
  readonly inReplyTo?: string;
  /** The calls of a turn of the kind `tool_calls`, as the application sent them. */
  readonly toolCalls?: readonly unknown[];
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
  readonly turns: readonly HistoryTurn[];
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

const timeoutMs = 30_000;

type Body = Partial<HistoryPage> & { readonly error?: string; readonly message?: string };

export async function readHistory(
  source: MediaSource,
  sessionId: string,
  options: HistoryOptions = {},
): Promise<HistoryPage> {
  const url = new URL(source.base);
  const { searchParams } = url;
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, "").replace(/\/ws$/, "")}/history`;
  if (!searchParams.has("session_id")) searchParams.set("session_id", sessionId);
  for (const [name, value] of Object.entries(options)) searchParams.set(name, String(value));
  return request(source, url.href, { timeoutMs, failure: "history_unavailable" }, async (body) => {
    const { error, message, turns, before } = (await body.json()) as Body;
    if (error) throw linkError(error, message);
    if (!Array.isArray(turns)) throw new Error("no turns");
    return { turns, ...(before && { before }) };
  });
}
