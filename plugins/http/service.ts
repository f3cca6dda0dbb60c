import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Awaitable, Log, Release } from "../../kernel/index.ts";
import type { ClientFault } from "./log-limiter.ts";

/** Who is at the other end, forwarded headers already judged. */
export interface Peer {
  readonly address: string;
  /** The limiter's key: IPv4 address, mapped IPv4 normalised, or IPv6 /64. */
  readonly key: string;
  /** TLS, or a trusted proxy says https. */
  readonly secure: boolean;
  /** Host and port as the browser sees them, lower case. */
  readonly host: string;
}

export interface Identity {
  readonly id: string;
  onEnd(ended: (reason: string) => void): Release;
}

/** Whom a host's own session check knows. */
export interface HostIdentity {
  readonly id: string;
  /** May use the dashboard as whoever knows the launcher token may. Others may only use the channel, from pages of the
   *  same origin. */
  readonly owner?: boolean;
  /** Tells when the session is over, so that its sockets are closed; without it they stay until they close. */
  readonly onEnd?: (ended: (reason: string) => void) => Release;
}

export type Listener = "dashboard" | "gateway";

export interface RouteOptions {
  /** `gateway`: on the listener of `gateway.port` when it is set, else on the only one, where a route made for
   *  `dashboard` with the same path goes before it. Default `dashboard`. */
  readonly listener?: Listener;
  /** Seconds the whole request may take to arrive; default 30. */
  readonly bodySeconds?: number;
  /** Serves requests without a Host header, or with two, as some health checks send them. */
  readonly anyHost?: boolean;
  /** Serves requests with two Authorization headers, which are refused otherwise: the route judges them all itself. */
  readonly anyAuthorization?: boolean;
}

/** The listener in the types of Node: it knows the base path and the peers, so that nobody else parses a forwarded
 *  header or builds a link. */
export interface Http {
  /** Longest prefix wins; a prefix ends at a path segment. `q.url` comes normalised and without the base path.
   *  Unmatched requests reach a host's own handler. */
  request(
    prefix: string,
    handle: (request: IncomingMessage, response: ServerResponse) => void,
    options?: RouteOptions,
  ): void;
  /** WebSocket upgrades of exactly this path. */
  upgrade(
    path: string,
    handle: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
    options?: RouteOptions,
  ): void;
  /** Writes a whole HTTP answer with the safety headers to an upgrade's socket and closes it. */
  rejectUpgrade(
    socket: Duplex,
    status: number,
    body: object,
    headers?: Readonly<Record<string, string>>,
  ): void;
  registerIdentity(
    kind: string,
    find: (request: IncomingMessage, peer: Peer) => Identity | undefined,
  ): void;
  identityOf(
    request: IncomingMessage,
  ): { readonly kind: string; readonly identity: Identity } | undefined;
  peer(request: IncomingMessage): Peer;
  /** Call it when a request has proved a token or a sign-in: its connection no longer counts for the
   *  limits on unauthenticated connections. */
  markAuthenticated(request: IncomingMessage): void;
  /** Counts a fault of a client, and logs it at most once per address, reason and minute; a second
   *  line at the end of the minute says how many followed (`repeated`). */
  noteFault(log: Log, fault: ClientFault): void;
  /** All noted faults since the start, by reason. */
  clientFaults(): Readonly<Record<string, number>>;
  /** The listener the request came in by. */
  listener(request: IncomingMessage): Listener;
  /** The path with the base path before it: the only way to make a link. */
  url(path: string): string;
  /** Where it listens, base path and a closing slash included, best for people first; empty before ready. `gateway`
   *  without its own listener: those of the only one. */
  addresses(listener?: Listener): URL[];
  /** Whether other machines can reach the first listener: known before it opens, of a host's server once it listens. */
  isPublic(): boolean;
  /** Whether other programs certainly serve paths of the same origin: there is a base path, or a host's own server. */
  sharesOrigin(): boolean;
  /** Called in `start`: another listener, opened when this one is. A host's server keeps serving the first. */
  open(
    listener: "gateway",
    where: { readonly port: number; readonly host?: string | undefined },
  ): void;
  /** Files this process may open at one time, connections among them; undefined where that cannot be known. */
  openFiles(): Promise<number | undefined>;
  /** A new one for each caller: dashboard and channel never share. `attempts` per key and 60 s, default 10. */
  limiter(options?: { attempts?: () => number }): Limiter;
  /** Frees an address, or all, in every limiter made here. */
  unblock(address?: string): void;
}

export type Verdict<T> =
  | { readonly outcome: "match"; readonly match: T }
  /** `counted`: different wrong values of this key in the window; `again`: this one was among them before. */
  | { readonly outcome: "mismatch"; readonly counted: number; readonly again?: true }
  | { readonly outcome: "limited"; readonly retryAfterSeconds: number };

/** At most `attempts` different wrong values per key in any sliding 60 s. Keyed hashes are kept, never values. */
export interface Limiter {
  /** Seconds until the key is free; 0 = free. */
  blockedFor(key: string): number;
  /** Compares unless the key is blocked and the value is short enough to guess (under 43 characters). The value is
   *  reserved before the comparison, so that parallel guesses cannot slip through; a rejection of `compare` gives it
   *  back. */
  attempt<T>(
    key: string,
    value: string,
    compare: () => Awaitable<T | false>,
    /** `half`: for what a page of another site may have sent; it can spend half of a key's tries and no more. */
    options?: { readonly half?: boolean },
  ): Promise<Verdict<T>>;
  /** Counts a value that was wrong without a comparison. */
  recordFailure(key: string, value: string): Verdict<never>;
  /** An address or a key; without one, all. */
  unblock(key?: string): void;
}

export type HttpEvents = {
  /** The port is open. */
  "http:listening": { url: string };
  /** A WebSocket came to an own listener at an address where nobody serves one. */
  "http:upgrade-unserved": { address: string };
};
