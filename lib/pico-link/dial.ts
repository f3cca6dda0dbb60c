// Opens WebSockets to a channel, and finds out why a handshake failed.
import { encodeUtf8, formatCursor } from "../pico-wire/index.ts";
import type { Clock, ResumePoint, HandshakeRejection, SocketEvent } from "./types.ts";

/**
 * Adds the query parameters of the link to an address. Existing `session_id`, `pico_ext` and
 * `pico_can` are kept; `resume` and `conn` are replaced.
 */
export function dialUrl(
  address: string,
  sessionId: string,
  resume: ResumePoint | undefined,
): string {
  const url = new URL(address);
  url.protocol = url.protocol.replace(/^http/, "ws");
  const { searchParams } = url;
  if (!searchParams.has("session_id")) searchParams.set("session_id", sessionId);
  if (!searchParams.has("pico_ext")) searchParams.set("pico_ext", "1");
  if (!searchParams.has("pico_can"))
    searchParams.set("pico_can", "append,notices,questions,stop,turns");
  if (resume) {
    searchParams.set("resume", formatCursor(resume.cursor));
    searchParams.set("conn", resume.conn);
  }
  return url.href;
}

/** The address for plain HTTP requests. */
export const httpUrl = (address: string): string => new URL(address).href.replace(/^ws/, "http");

/**
 * Converts the value of `Retry-After`, seconds or a date, to milliseconds.
 *
 * @returns Undefined if it is malformed or in the past.
 */
export function retryAfterMs(header: string | null | undefined, now: number): number | undefined {
  if (!header) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return ms >= 0 ? ms : undefined;
}

/** Receives the events of a socket. */
export type SocketListener = (event: SocketEvent) => void;

/** A socket that is open or being opened. */
export interface OpenSocket {
  write(text: string): void;
  /** @returns Bytes that have not been sent yet. */
  buffered(): number;
  close(): void;
}

/** Opens a socket to an address with a token. */
export type Dial = (
  target: { readonly url: string; readonly token: string },
  socketListener: SocketListener,
) => OpenSocket;

interface SocketEvents {
  readonly open: unknown;
  readonly error: unknown;
  readonly message: { readonly data: unknown };
  readonly close: { readonly code: number; readonly reason: string };
}

/** The used part of the WebSocket interface; `ws` has it too. */
interface SocketLike {
  binaryType: string;
  readonly bufferedAmount: number;
  send(text: string): void;
  close(code?: number): void;
  /** Only in `ws`: closes the socket without a closing handshake. */
  terminate?(): void;
  addEventListener<K extends keyof SocketEvents>(
    type: K,
    listener: (event: SocketEvents[K]) => void,
  ): void;
  /** Only in `ws`. */
  on?(type: "ping", listener: () => void): unknown;
}

/**
 * A WebSocket constructor of a browser, or one that accepts options, as those of `ws` and of Node
 * do.
 */
export type SocketConstructor = new (url: string, second?: never) => unknown;

/** Options of `createDialer`. */
interface DialOptions {
  /**
   * Whether the constructor accepts `{ headers }`; otherwise the token is sent as a subprotocol.
   */
  readonly headers?: boolean | undefined;
  readonly clock: Clock;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** Milliseconds to wait for the closing handshake of the server. */
const closeTimeoutMs = 1_000;

/** Encodes text as UTF-8 with one character for each byte, as headers and `btoa` require. */
const toByteString = (text: string): string => String.fromCharCode(...encodeUtf8(text));

const base64url = (text: string): string =>
  btoa(toByteString(text)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

/** Browsers accept only subprotocol names that are tokens of RFC 7230. */
const tokenProtocol = (token: string): string =>
  /^[\w!#$%&'*+.^`|~-]+$/.test(token) ? `token.${token}` : `token64.${base64url(token)}`;

/**
 * The Authorization header. An empty token sends none: the server recognizes the page by its
 * cookie, or the URL contains the token.
 */
export const authorization = (token: string): Record<string, string> =>
  token ? { Authorization: `Bearer ${toByteString(token)}` } : {};

/**
 * Creates a function that opens sockets with a WebSocket constructor. If a handshake fails, a plain
 * HTTP request to the same address finds the reason.
 */
export function createDialer(Socket: SocketConstructor, options: DialOptions): Dial {
  const { headers: takesHeaders, clock, fetch = globalThis.fetch } = options;

  async function probe(
    url: string,
    token: string,
    signal: AbortSignal,
  ): Promise<HandshakeRejection> {
    const headers = authorization(token);
    const response = await fetch(url.replace(/^ws/, "http"), { headers, signal });
    const body = (await response.json().catch(() => undefined)) as { error?: unknown } | undefined;
    const code = typeof body?.error === "string" ? body.error : undefined;
    // The token is right and the channel responds, so only the upgrade was lost.
    if (response.ok) return { status: 426 };
    return {
      status: response.status,
      code,
      retryAfterMs: retryAfterMs(response.headers.get("retry-after"), clock.now()),
    };
  }

  return ({ url, token }, socketListener) => {
    const second = takesHeaders
      ? { headers: authorization(token) }
      : token
        ? [tokenProtocol(token)]
        : [];
    const socket = new Socket(url, second as never) as SocketLike;
    const controller = new AbortController();
    let isOpen = false;
    let isOver = false;
    let closeTimer: unknown;
    const reportFailure = (): void => {
      if (isOver || controller.signal.aborted) return;
      isOver = true;
      const failed = (handshakeRejection?: HandshakeRejection): void =>
        socketListener({ type: "failed", ...handshakeRejection });
      probe(url, token, controller.signal).then(failed, () => failed());
    };
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => {
      isOpen = true;
      socketListener({ type: "opened" });
    });
    socket.addEventListener("message", ({ data }: { data: unknown }) =>
      socketListener({
        type: "message",
        data: data instanceof ArrayBuffer ? new Uint8Array(data) : (data as string),
      }),
    );
    // The WebSocket of Node 22 reports a refused connection with an error only; others close after
    // it.
    socket.addEventListener("error", () => {
      if (!isOpen) reportFailure();
    });
    socket.addEventListener("close", ({ code, reason }: { code: number; reason: string }) => {
      clock.clearTimeout(closeTimer);
      if (isOpen) socketListener({ type: "closed", code, reason });
      else reportFailure();
    });
    socket.on?.("ping", () => socketListener({ type: "heard" }));
    return {
      write: (text) => socket.send(text),
      buffered: () => socket.bufferedAmount,
      close() {
        controller.abort();
        closeTimer = clock.setTimeout(() => socket.terminate?.(), closeTimeoutMs);
        socket.close(1000);
      },
    };
  };
}
