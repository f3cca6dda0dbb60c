/** Types and events of the HTTP service. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Awaitable, Log, Release } from "../../kernel/index.ts";
import type { ClientFault } from "./log-limiter.ts";

/** The network endpoint of a request, after trusted forwarded headers were applied. */
export interface Peer {
  /** IP address of the client in text form; with a trusted proxy, the address that it forwarded. */
  readonly address: string;
  /** Limiter key: an IPv4 address, or the /64 of an IPv6 address. */
  readonly key: string;
  /** True with TLS, or if a trusted proxy reports https or wss. */
  readonly secure: boolean;
  /** Host and port as the browser sees them, in lower case. */
  readonly host: string;
}

/**
 * The sessions that an identified person may read and write.
 *
 * - `"own"`: sessions of the person alone. Doorward puts `host:ID/` before every name that the
 *   person's clients give, so two people who both name `home` never meet.
 * - `"all"`: every session, like the holder of the channel token.
 * - A list: these sessions, by their exact names.
 * - A function: the sessions for which it returns `true`. It must be synchronous, fast and without
 *   side effects, because it is called for every request and frame of the person's clients. A
 *   promise, an error and every other result reject the session. It is not called for messages that
 *   an open connection receives: `onEnd` closes these connections.
 */
export type SessionAccess = "own" | "all" | readonly string[] | ((session: string) => boolean);

/** Something that not every identity may do: `read` events, history and files, `write` messages and
 *  files, `answer` questions, `stop` the messages of others. */
export type Permission = "read" | "write" | "answer" | "stop";

/** An authenticated session of a request. */
export interface Identity {
  /**
   * Identifies the sign-in among those of its kind: for the dashboard 8 hexadecimal digits; for a
   * host, the id of the person. Never the secret of a cookie.
   */
  readonly id: string;
  /** Name for people, if the host gave one. */
  readonly name?: string;
  /** Absent for a sign-in of the dashboard, which may use every session. */
  readonly sessions?: SessionAccess;
  /** Has the rights of the launcher token, however the request came. @defaultValue `false` */
  readonly owner?: boolean;
  /** The rights of the identity in its sessions. @defaultValue all */
  readonly may?: ReadonlySet<Permission>;
  /** Origin of the page that sent the request, if the resolver has checked it and a proxy changed
   *  the host, so that `peer` names another one. */
  readonly origin?: string;
  /**
   * Calls a function once when the session ends.
   *
   * @returns A function that ends the registration.
   */
  onEnd(ended: (reason: string) => void): Release;
}

/**
 * The person that the session check of a host names.
 *
 * @example
 * import { createServer } from "node:http";
 * import { http } from "doorward/plugins/http";
 *
 * const users = new Map([["cookie-of-ann", { id: "ann", name: "Ann", team: "garden" }]]);
 * http({
 *   server: createServer(),
 *   identify({ headers }) {
 *     const user = users.get(headers.cookie ?? "");
 *     return user && { id: user.id, name: user.name, sessions: ["lobby", `team-${user.team}`] };
 *   },
 * });
 */
export interface HostIdentity {
  /**
   * Identifies the person permanently: the same for all their devices, and never another person's.
   * Pages, events and logs show it as `host:ID`, so it must not be a secret such as a cookie. 1 to
   * 128 bytes without control characters; `/` and `%` count as three. Without a valid id, the
   * request is unauthenticated.
   */
  readonly id: string;
  /** Name for people, which the application receives with each message. At most 200 characters are
   *  kept. */
  readonly name?: string;
  /** The sessions that this person may read and write in the channel.
   *  @defaultValue `"own"`; with `owner: true` `"all"` */
  readonly sessions?: SessionAccess;
  /** Grants the same access to the dashboard as the launcher token, which shows all sessions.
   *  Without it, the person may use the channel only, from pages of the same origin.
   *  @defaultValue `false` */
  readonly owner?: boolean;
  /**
   * Registers a callback for the end of the session, which closes its connections. Without it they
   * stay open.
   */
  readonly onEnd?: (ended: (reason: string) => void) => Release;
}

/** Name of a listener. */
export type Listener = "dashboard" | "gateway";

/** Options of a route. */
export interface RouteOptions {
  /** `gateway` serves the route on the listener of `gateway.port`. Without that setting, the
   *  dashboard listener serves it; a dashboard route with the same path precedes it.
   *  @defaultValue `"dashboard"` */
  readonly listener?: Listener;
  /** Methods that the route serves. Requests of others reach the next shorter prefix.
   *  @defaultValue all */
  readonly methods?: readonly string[];
  /** Seconds until the whole request must have arrived. @defaultValue 30 */
  readonly bodySeconds?: number;
  /** Accepts requests without a Host header or with several, as some health checks send them. */
  readonly anyHost?: boolean;
  /** Accepts requests with several Authorization headers: the route checks all of them itself. */
  readonly anyAuthorization?: boolean;
}

/** The HTTP service, with the types of Node. Only this service parses forwarded headers and adds
 *  the base path to links. */
export interface Http {
  /**
   * Registers a request handler. The longest prefix wins; a prefix ends at a path segment. The
   * handler receives `request.url` in normal form without the base path. On the server of a host,
   * requests without a route reach the handler of the host.
   *
   * @throws HTTP_ROUTE_TAKEN if the prefix is registered.
   */
  request(
    prefix: string,
    handle: (request: IncomingMessage, response: ServerResponse) => void,
    options?: RouteOptions,
  ): void;
  /**
   * Registers a handler for WebSocket upgrades of exactly this path.
   *
   * @throws HTTP_ROUTE_TAKEN if the path is registered.
   */
  upgrade(
    path: string,
    handle: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
    options?: RouteOptions,
  ): void;
  /**
   * Lets a function see each request before its handler, for checks that send requests to their own
   * server. Upgrades are left out.
   *
   * @param intercept - Returns true if it has answered the request. Must not throw.
   * @returns A function that removes it.
   */
  intercept(intercept: (request: IncomingMessage, response: ServerResponse) => boolean): Release;
  /** Writes an HTTP response with the security headers to an upgrade socket and closes it. */
  rejectUpgrade(
    socket: Duplex,
    status: number,
    body: object,
    headers?: Readonly<Record<string, string>>,
  ): void;
  /**
   * Registers a function that finds the identity of a request.
   *
   * @throws TypeError if a function of this kind is registered.
   * @param explain - Returns why credentials in the request are not accepted: one or two sentences
   *   for the owner. Undefined if there are no credentials of this kind.
   */
  registerIdentity(
    kind: string,
    find: (request: IncomingMessage, peer: Peer) => Identity | undefined,
    explain?: (request: IncomingMessage, peer: Peer) => string | undefined,
  ): void;
  /**
   * @param kinds - The kinds that count. @defaultValue all
   * @returns The identity that a registered function finds. One of the kind `host` only if there is
   *   no other, because all others have more rights.
   */
  identityOf(
    request: IncomingMessage,
    kinds?: ReadonlySet<string>,
  ): { readonly kind: string; readonly identity: Identity } | undefined;
  /** @returns Why the credentials of a request are not accepted; undefined without any. */
  identityProblem(request: IncomingMessage): string | undefined;
  /** @returns The network endpoint of a request. */
  peer(request: IncomingMessage): Peer;
  /** @returns Whether the connection of a request comes from an address in `trusted_proxies`,
   *  whatever the forwarded headers say. */
  isFromTrustedProxy(request: IncomingMessage): boolean;
  /** Exempts the connection of a request with a valid token or sign-in from the limits on
   *  unauthenticated connections. */
  markAuthenticated(request: IncomingMessage): void;
  /** Counts a client fault and logs it at most once per address, reason and minute. A second line
   *  at the end of the minute contains the number of further faults (`repeated`). */
  noteFault(log: Log, fault: ClientFault): void;
  /** @returns The number of noted faults since the start, by reason. */
  clientFaults(): Readonly<Record<string, number>>;
  /** @returns The listener that received the request. */
  listener(request: IncomingMessage): Listener;
  /** @returns The path with the base path. Create all links with this function. */
  url(path: string): string;
  /** @returns The URLs of a listener with base path and final slash, the most readable one first;
   *  empty before ready. For `gateway` without its own listener, the URLs of the dashboard. */
  addresses(listener?: Listener): URL[];
  /** Sets the function that returns the public URL of the dashboard. */
  publish(publicUrl: () => string | undefined): void;
  /** Sets the function that says whether a host name in lower case, without a port, is one of this
   *  service, as a setting lists them. */
  nameHosts(isNamed: (name: string) => boolean): void;
  /** @returns Whether `nameHosts` knows this host name. */
  isNamedHost(name: string): boolean;
  /** @returns The public URL of a path of the dashboard; undefined without `gateway.public_url`. A
   *  public URL without a path is followed by the base path. */
  publicUrl(path: string): string | undefined;
  /** @returns Whether other machines can reach the dashboard listener. For the server of a host the
   *  result is known once it listens. */
  isPublic(): boolean;
  /** @returns The first network in `trusted_proxies` that contains a loopback address, if any. */
  trustedLoopback(): string | undefined;
  /** @returns Whether other programs serve paths of the same origin: with a base path, and on the
   *  server of a host. */
  sharesOrigin(): boolean;
  /**
   * Plans the gateway listener; called in `start`. It opens together with the dashboard listener.
   *
   * @throws HTTP_LISTENER_TAKEN if it is planned already.
   */
  open(
    listener: "gateway",
    where: { readonly port: number; readonly host?: string | undefined },
  ): void;
  /**
   * Reserves memory for a response of more than 64 KiB until the client has received it or has
   * left. Call it before the response is written. For a stream, pass the size of its largest
   * part in memory.
   *
   * @returns A function that frees the memory earlier, or undefined if too many large responses are
   *   unread: send an error with `Retry-After`.
   */
  holdResponse(response: ServerResponse, bytes: number): Release | undefined;
  /** @returns The number of files and sockets this process may open, or undefined if unknown. */
  openFiles(): Promise<number | undefined>;
  /**
   * Creates a limiter. Each caller has its own, so dashboard and channel count separately.
   *
   * @param options.attempts - Wrong values per key and 60 s. @defaultValue 10
   */
  limiter(options?: { attempts?: () => number }): Limiter;
  /** Unblocks an address, or all addresses, in every limiter. */
  unblock(address?: string): void;
}

/**
 * Result of an attempt. `match`: the value that `compare` returned. `limited`: the key is blocked
 * for this many seconds, and the value was not compared.
 */
export type Verdict<T> =
  | { readonly outcome: "match"; readonly match: T }
  /** `counted`: distinct wrong values of this key in the last 60 s; `again`: this value was
   *  counted before. */
  | { readonly outcome: "mismatch"; readonly counted: number; readonly again?: true }
  | { readonly outcome: "limited"; readonly retryAfterSeconds: number };

/** Allows at most `attempts` distinct wrong values per key in any 60 s. It stores keyed hashes,
 *  never values. */
export interface Limiter {
  /** @returns Seconds until the key is unblocked; 0 if it is not blocked. */
  blockedFor(key: string): number;
  /**
   * Compares a value. If the key is blocked, only values of at least 43 characters are compared,
   * because they cannot be guessed. The attempt counts from before the comparison, so that parallel
   * attempts cannot exceed the limit; if `compare` rejects, it does not count.
   */
  attempt<T>(
    key: string,
    value: string,
    compare: () => Awaitable<T | false>,
    /** `half`: for requests that a page of another site may have sent. Such requests can use at
     *  most half of the attempts of a key. */
    options?: { readonly half?: boolean },
  ): Promise<Verdict<T>>;
  /** Counts a wrong value without a comparison. */
  recordFailure(key: string, value: string): Verdict<never>;
  /** Unblocks an address or key. @defaultValue all keys */
  unblock(key?: string): void;
}

/** Events of the HTTP plugin. */
export type HttpEvents = {
  /** A port is open. `url`: its address with base path and final slash, without a token. */
  "http:listening": { url: string };
  /**
   * A client requested a WebSocket at a path without a WebSocket route. `address`: its IP address.
   */
  "http:upgrade-unserved": { address: string };
};
