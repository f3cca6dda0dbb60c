import { encodeUtf8, formatCursor } from "../pico-wire/index.ts";
import type { Clock, HandshakeRejection, ResumePoint, SocketEvent } from "./types.ts";

/** The address with what the link adds. Names that stand in it already are kept, `resume` and `conn` are ours. */
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
  if (resume) {
    searchParams.set("resume", formatCursor(resume.cursor));
    searchParams.set("conn", resume.conn);
  }
  return url.href;
}

/** The address for plain requests. */
export const httpUrl = (address: string): string => new URL(address).href.replace(/^ws/, "http");

/** Seconds or a date, as `Retry-After` has it, in milliseconds. */
export function retryAfterMs(header: string | null | undefined, now: number): number | undefined {
  if (!header) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return ms >= 0 ? ms : undefined;
}

export type SocketListener = (news: SocketEvent) => void;

export interface OpenSocket {
  write(text: string): void;
  /** Bytes that have not left. */
  buffered(): number;
  close(): void;
}

/** Opens a socket to the address, showing the token. */
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

/** The part of the platform's WebSocket that is used; `ws` has it too. */
export interface SocketLike {
  binaryType: string;
  readonly bufferedAmount: number;
  send(text: string): void;
  close(code?: number): void;
  /** `ws`: at once. */
  terminate?(): void;
  addEventListener<K extends keyof SocketEvents>(
    type: K,
    listener: (event: SocketEvents[K]) => void,
  ): void;
  /** `ws`. */
  on?(type: "ping", listener: () => void): unknown;
}

/** A browser's constructor, or one that takes options, as those of `ws` and of Node do. */
export type SocketConstructor = new (url: string, second?: never) => unknown;

export interface DialOptions {
  /** The constructor takes `{ headers }`; else the token goes as a subprotocol. */
  readonly headers?: boolean | undefined;
  readonly clock: Clock;
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** For a peer that does not answer a close. */
const closeTimeoutMs = 1_000;

/** Its UTF-8, a character for each byte: as headers and `btoa` take it. */
const toByteString = (text: string): string => String.fromCharCode(...encodeUtf8(text));

const base64url = (text: string): string =>
  btoa(toByteString(text)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

/** Browsers take names of RFC 7230 only. */
const tokenProtocol = (token: string): string =>
  /^[\w!#$%&'*+.^`|~-]+$/.test(token) ? `token.${token}` : `token64.${base64url(token)}`;

/** An empty token is none: the server knows the page, or the address holds it. */
export const authorization = (token: string): Record<string, string> =>
  token ? { Authorization: `Bearer ${toByteString(token)}` } : {};

/** Dials with a WebSocket constructor. When the handshake fails, a plain request to the same place tells why. */
export function createDialer(Socket: SocketConstructor, options: DialOptions): Dial {
  const { headers: takesHeaders, clock, fetch = globalThis.fetch } = options;

  async function probe(
    url: string,
    token: string,
    signal: AbortSignal,
  ): Promise<HandshakeRejection> {
    const headers = authorization(token);
    const answer = await fetch(url.replace(/^ws/, "http"), { headers, signal });
    const body = (await answer.json().catch(() => undefined)) as { error?: unknown } | undefined;
    const code = typeof body?.error === "string" ? body.error : undefined;
    // a right token and a channel that answers: only the upgrade did not get through
    if (answer.ok) return { status: 426 };
    return {
      status: answer.status,
      code,
      retryAfterMs: retryAfterMs(answer.headers.get("retry-after"), clock.now()),
    };
  }

  return ({ url, token }, socketListener) => {
    const second = takesHeaders
      ? { headers: authorization(token) }
      : token
        ? [tokenProtocol(token)]
        : [];
    const socket = new Socket(url, second as never) as SocketLike;
    const left = new AbortController();
    let isOpen = false;
    let isOver = false;
    let cutting: unknown;
    const neverOpened = (): void => {
      if (isOver || left.signal.aborted) return;
      isOver = true;
      const failed = (handshakeRejection?: HandshakeRejection): void =>
        socketListener({ type: "failed", ...handshakeRejection });
      probe(url, token, left.signal).then(failed, () => failed());
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
    // That of Node 22 tells of a connection that was refused by an error alone; others close after it.
    socket.addEventListener("error", () => {
      if (!isOpen) neverOpened();
    });
    socket.addEventListener("close", ({ code, reason }: { code: number; reason: string }) => {
      clock.clearTimeout(cutting);
      if (isOpen) socketListener({ type: "closed", code, reason });
      else neverOpened();
    });
    socket.on?.("ping", () => socketListener({ type: "heard" }));
    return {
      write: (text) => socket.send(text),
      buffered: () => socket.bufferedAmount,
      close() {
        left.abort();
        cutting = clock.setTimeout(() => socket.terminate?.(), closeTimeoutMs);
        socket.close(1000);
      },
    };
  };
}
