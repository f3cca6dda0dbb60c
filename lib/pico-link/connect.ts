import { createDialer, httpUrl, type Dial, type SocketConstructor } from "./dial.ts";
import { createLink } from "./link.ts";
import { fetchMedia, type MediaLimits, type MediaSource } from "./media.ts";
import type { Link, LinkHandlers, Clock, LinkMessage } from "./types.ts";

export interface ConnectOptions extends LinkHandlers {
  /** `ws://host:port/pico`, `wss:`, `http:` or `https:`; in a page it may be relative. */
  readonly url: string;
  /** A function is asked before each try; `""` shows none, for pages the server knows by their cookie. */
  readonly token: string | (() => string | Promise<string>);
  /** The conversation; the same id continues it. Unset: a new one. */
  readonly sessionId?: string;
  /** Unset: the platform's; in Node 20, which has none, that of the package `ws`. */
  readonly WebSocket?: SocketConstructor;
  /** Milliseconds without an update after which a message is assumed to be complete (`assumed`), for servers that do
   *  not mark the end. At most one hour. @defaultValue 30,000 */
  readonly silenceMs?: number;
  /** `WebSocket` takes `{ headers }` as its second argument; unset: as the platform's does. */
  readonly headers?: boolean;
  readonly fetch?: typeof globalThis.fetch;
  readonly clock?: Clock;
  /** Random bytes. */
  readonly random?: (bytes: number) => Uint8Array;
}

/** A link that stays. `stop` ends it. */
export interface Client extends Omit<Link, "start"> {
  /** Fetches an attachment, with the token where it is on the server's origin. Rejects with a `LinkError`:
   *  `media_too_large` (over 20 MiB, or `maxBytes`) or `media_unavailable`. */
  fetchMedia(attachment: LinkMessage["attachments"][number], limits?: MediaLimits): Promise<Blob>;
}

const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (run, ms) => globalThis.setTimeout(run, ms),
  clearTimeout: (id) => globalThis.clearTimeout(id as number),
};

const randomBytes = (bytes: number): Uint8Array => crypto.getRandomValues(new Uint8Array(bytes));

const platform = globalThis as { WebSocket?: SocketConstructor; location?: { href: string } };

/** The platform's; undefined where it has none. */
export const platformWebSocket = (): SocketConstructor | undefined => platform.WebSocket;

/** By this WebSocket, whatever the options name. */
export function connectWith(
  options: ConnectOptions,
  Socket: SocketConstructor | Promise<SocketConstructor>,
): Client {
  const { clock = systemClock, random = randomBytes, headers, fetch } = options;
  const dial = async (): Promise<Dial> => createDialer(await Socket, { headers, clock, fetch });
  const newId = (): string =>
    [...random(16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const { token } = options;
  const url = new URL(options.url, platform.location?.href).href;
  const { start, ...client } = createLink({
    ...options,
    url,
    sessionId: options.sessionId ?? newId(),
    clock,
    random: () => random(4).reduce((sum, byte) => (sum + byte) / 256, 0),
    newId,
    dial: dial(),
  });
  start();
  const source: MediaSource = {
    base: httpUrl(url),
    token: () => (typeof token === "string" ? token : token()),
    fetch,
    clock,
  };
  return { ...client, fetchMedia: (attachment, limits) => fetchMedia(attachment, source, limits) };
}
