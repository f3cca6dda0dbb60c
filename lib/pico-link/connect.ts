// Builds a client from the options of `connect` and a WebSocket constructor.
import { createDialer, httpUrl, type Dial, type SocketConstructor } from "./dial.ts";
import {
  readHistory,
  type HistoryOptions,
  type HistoryPage,
  fetchMedia,
  type MediaLimits,
  type HttpSource,
} from "./http.ts";
import { createLink } from "./link.ts";
import type { ChatAnswer, ChatAnswered } from "./questions.ts";
import type {
  StoppedAnswer,
  ChatHandlers,
  ChatMessage,
  ChatOutgoing,
  ChatState,
  Clock,
  Link,
  SentMessage,
} from "./types.ts";

/** Options of `connect`. */
export interface ConnectOptions extends ChatHandlers {
  /** `ws:`, `wss:`, `http:` or `https:` address of the channel; in a page it may be relative. */
  readonly url: string;
  /**
   * The channel token. A function is called before each attempt to connect. `""` sends no token,
   * for pages that the server recognizes by their cookie.
   */
  readonly token: string | (() => string | Promise<string>);
  /** The conversation; the same id continues it. @defaultValue A new random id. */
  readonly sessionId?: string;
  /**
   * @defaultValue The WebSocket of the platform; in Node 20, which has none, that of the package
   * `ws`.
   */
  readonly WebSocket?: SocketConstructor;
  /**
   * Milliseconds without an update after which a message is assumed to be complete (`assumed`), for
   * servers that do not mark the end. At most one hour. @defaultValue 30,000
   */
  readonly silenceMs?: number;
  /**
   * Whether `WebSocket` accepts `{ headers }` as its second argument. @defaultValue True in Node,
   * false elsewhere.
   */
  readonly headers?: boolean;
  /**
   * Loads attachments, and finds the HTTP status of a rejected handshake. @defaultValue `fetch` of
   * the platform
   */
  readonly fetch?: typeof globalThis.fetch;
  /** Time and timers of the link, for tests. @defaultValue the system clock */
  readonly clock?: Clock;
  /** Returns this many random bytes. @defaultValue `crypto.getRandomValues` */
  readonly random?: (bytes: number) => Uint8Array;
}

/** A client of one conversation. */
export interface Client {
  /**
   * The conversation: at most 256 bytes of UTF-8 without control characters. Pass it to a later
   * `connect` to continue.
   */
  readonly sessionId: string;
  /** Sends a message, or keeps it until the next connection. Returns immediately. */
  send(message: string | ChatOutgoing): SentMessage;
  /**
   * Stops the answer to a message, or all of the conversation. Kept for 60 s while there is no
   * connection; a message that was never sent is removed.
   *
   * @throws ChatError `unsupported` (the server cannot stop messages), `expired` or `closed`.
   */
  stop(requestId?: string): Promise<readonly StoppedAnswer[]>;
  /**
   * Answers a question. Nothing is kept while the link is not open.
   *
   * @param questionId - The `id` that `onQuestion` reported.
   * @returns The effect: also `already`, if another person was faster.
   * @throws ChatError `not_sent` (the link is not open), `unconfirmed` (the connection ended; the
   * answer may count), `unsupported`, or a code of the server.
   */
  answer(questionId: string, answer: ChatAnswer): Promise<ChatAnswered>;
  /**
   * Shows or hides the typing indicator at the application. A loss is harmless; without a
   * connection, nothing is sent.
   */
  typing(on: boolean): void;
  /** The present state; `onState` reports the changes. */
  state(): ChatState;
  /** True if the server reports the ends of answers. Otherwise, a complete text is the answer. */
  reportsEnds(): boolean;
  /**
   * Attempts to connect immediately instead of waiting, for example because the token has changed
   * or the network is back.
   */
  retry(): void;
  /** Closes the client permanently. Unconfirmed messages reject with `closed`. */
  close(): void;
  /**
   * Fetches an attachment. The token is sent to the origin of the server only.
   *
   * @throws ChatError `media_too_large` if it is larger than 20 MiB or `maxBytes`.
   * @throws ChatError `media_unavailable` if it cannot be fetched.
   */
  fetchMedia(attachment: ChatMessage["attachments"][number], limits?: MediaLimits): Promise<Blob>;
  /**
   * Reads what was said in this conversation, both sides. A server that keeps no history has an
   * empty page.
   *
   * @throws ChatError `history_unavailable` without a response, or a code of the server.
   */
  history(options?: HistoryOptions): Promise<HistoryPage>;
}

const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (run, ms) => globalThis.setTimeout(run, ms),
  clearTimeout: (id) => globalThis.clearTimeout(id as number),
};

/** Fires events when the device is used again or has a network again. */
type WakeTarget = Pick<EventTarget, "addEventListener" | "removeEventListener">;
const wakeEvents = ["focus", "online"] as const;

const platform = globalThis as Partial<WakeTarget> & {
  WebSocket?: SocketConstructor;
  crypto?: { getRandomValues?(bytes: Uint8Array): Uint8Array };
  location?: { href: string };
};

/** @throws TypeError if the platform has no source of random bytes. */
function platformRandom(): (bytes: number) => Uint8Array {
  if (!platform.crypto?.getRandomValues)
    throw new TypeError(
      "This platform has no crypto.getRandomValues: pass a source of random bytes in the option " +
        "random.",
    );
  return (bytes) => platform.crypto!.getRandomValues!(new Uint8Array(bytes));
}

/** @returns Undefined if the platform has no WebSocket. */
export const platformWebSocket = (): SocketConstructor | undefined => platform.WebSocket;

/** Attempts to connect immediately instead of waiting, until the link is closed. */
function retryWhenAwake({ state, retry }: Pick<Link, "state" | "retry">, target: WakeTarget): void {
  const wake = (): void => {
    if (state() === "waiting") return retry();
    if (state() !== "closed") return;
    for (const type of wakeEvents) target.removeEventListener(type, wake);
  };
  for (const type of wakeEvents) target.addEventListener(type, wake);
}

/**
 * Connects with this WebSocket and ignores `options.WebSocket`.
 *
 * @param target - Fires `focus` and `online`. @defaultValue the platform, if it has such events
 */
export function connectWith(
  options: ConnectOptions,
  Socket: SocketConstructor | Promise<SocketConstructor>,
  target: Partial<WakeTarget> = platform,
): Client {
  const { clock = systemClock, random = platformRandom(), headers, fetch } = options;
  const dial = async (): Promise<Dial> => createDialer(await Socket, { headers, clock, fetch });
  const dialing = dial();
  dialing.catch(() => undefined); // The link reports it when it connects.
  const newId = (): string =>
    [...random(16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const { token } = options;
  const url = new URL(options.url, platform.location?.href).href;
  const { start, state, ...link } = createLink({
    ...options,
    url,
    sessionId: options.sessionId ?? newId(),
    clock,
    random: () => random(4).reduce((sum, byte) => (sum + byte) / 256, 0),
    newId,
    dial: dialing,
  });
  start();
  if (target.addEventListener) retryWhenAwake({ state, retry: link.retry }, target as WakeTarget);
  const source: HttpSource = {
    base: httpUrl(url),
    token: () => (typeof token === "string" ? token : token()),
    fetch,
    clock,
  };
  return {
    ...link,
    state: () => state() as ChatState, // It has been started.
    fetchMedia: (attachment, limits) => fetchMedia(attachment, source, limits),
    history: (page) => readHistory(source, link.sessionId, page),
  };
}
