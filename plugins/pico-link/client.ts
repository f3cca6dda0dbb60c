import { dialer, type Dial, type SocketConstructor } from "./dial.ts";
import { createLink } from "./link.ts";
import type { Link, LinkHandlers } from "./service.ts";
import type { Clock } from "./types.ts";

/* doorward/client: a link to a pico channel for browsers and Node.
 *
 *   const chat = connect({ url: "wss://example.org/pico", token, onMessage: ({ content }) => show(content) });
 *   await chat.send("hello"); // the application has it */

export type { LinkError } from "./errors.ts";
export type { SocketConstructor } from "./dial.ts";
export type { LinkHandlers, LinkOutgoing } from "./service.ts";
export type { LinkChange, LinkGap, LinkMessage, LinkReceipt, LinkState } from "./types.ts";

export interface ConnectOptions extends LinkHandlers {
  /** `ws://host:port/pico`, `wss:`, `http:` or `https:`; in a page it may be relative. */
  readonly url: string;
  /** A function is asked before each try; `""` shows none, for pages the server knows by their cookie. */
  readonly token: string | (() => string | Promise<string>);
  /** The conversation; the same id continues it. Unset: a new one. */
  readonly sessionId?: string;
  /** Unset: the platform's; in Node without one, that of the package `ws`. */
  readonly WebSocket?: SocketConstructor;
  /** `WebSocket` takes `{ headers }` as its second argument; unset: as the platform's does. */
  readonly headers?: boolean;
  readonly fetch?: typeof globalThis.fetch;
  readonly clock?: Clock;
  /** Random bytes. */
  readonly random?: (bytes: number) => Uint8Array;
}

/** A link that stays. `stop` ends it. */
export type Client = Omit<Link, "start">;

const system: Clock = {
  now: () => Date.now(),
  setTimeout: (run, ms) => globalThis.setTimeout(run, ms),
  clearTimeout: (id) => globalThis.clearTimeout(id as number),
};

const randomBytes = (bytes: number): Uint8Array => crypto.getRandomValues(new Uint8Array(bytes));

const page = globalThis as {
  WebSocket?: SocketConstructor;
  process?: { versions?: { node?: string } };
  location?: { href: string };
};

/** Connects, and stays connected: cuts, restarts and sleep are bridged without losing a message. Never throws because
 *  the server is away; `onState` tells. */
export function connect(options: ConnectOptions): Client {
  const { clock = system, random = randomBytes } = options;
  const newId = (): string => [...random(16)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const { start, ...client } = createLink({
    ...options,
    url: new URL(options.url, page.location?.href).href,
    sessionId: options.sessionId ?? newId(),
    clock,
    random: () => random(4).reduce((sum, byte) => (sum + byte) / 256, 0),
    newId,
    dial: dialWith(options, clock),
  });
  start();
  return client;
}

const isNode = page.process?.versions?.node !== undefined;

function dialWith(options: ConnectOptions, clock: Clock): Dial | Promise<Dial> {
  const { WebSocket = page.WebSocket, headers = isNode, fetch } = options;
  if (WebSocket) return dialer(WebSocket, { headers, clock, fetch });
  return import("ws").then((ws) => dialer(ws.WebSocket, { headers, clock, fetch }));
}
