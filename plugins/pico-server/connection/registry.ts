// All open connections, their checks, and the list that pages show.
import type { IncomingHttpHeaders } from "node:http";
import type { Clock, Release } from "../../../kernel/index.ts";
import type { CloseName } from "../../../lib/pico-wire/index.ts";
import type { Sender } from "../../channels/index.ts";
import type { PicoConnection } from "../service.ts";
import { ConnectionChecks, type CheckClock, type CheckedPeer } from "./liveness.ts";

/** The part of a connection's data that changes while it is open. */
export type Traffic = Pick<
  PicoConnection,
  "messagesIn" | "messagesOut" | "queuedBytes" | "lastHeardAt"
>;

/** Bytes of one connection. */
export interface ByteCounts {
  readonly in: number;
  readonly out: number;
}

/**
 * A peer that counts towards `max_connections`: a WebSocket, an event stream, or a posted message
 * with `wait`.
 */
export interface Peer extends CheckedPeer {
  readonly id: string;
  /**
   * A secret that the client presents when it reconnects, so that the new connection replaces this
   * one.
   */
  readonly conn?: string | undefined;
  /** True if `hello` has told the client which answers run. */
  readonly knowsRunning?: boolean;
  /** Version of the token that was used; undefined for a page of the dashboard or of a host. */
  readonly tokenVersion: number | undefined;
  /** The user of the connection. */
  readonly sender: Sender;
  /** Sends the close code, and destroys the socket after a second if the peer does not respond. */
  close(name: CloseName, retryMs?: number): void;
  /** Data for pages. Undefined for a posted message with `wait`, which pages do not show. */
  known?: ConnectionInfo | undefined;
  /** Sends a ping when it is due, and closes a dead or slow peer. */
  check(): number;
  /** True if the peer receives messages of this session. */
  usesSession(session: string): boolean;
  /** True while the application processes a message of its sessions or frames wait to be sent. */
  isBusy(): boolean;
  /** Bytes of its socket since the connection was opened. */
  byteCounts(): ByteCounts;
  traffic(): Traffic;
}

/** All connections and their checks. */
export interface ConnectionRegistry {
  /** Connections that count towards `max_connections`. */
  count(): number;
  /** All connections, oldest first. */
  list(): Iterable<Peer>;
  find(id: string): Peer | undefined;
  /** The time of the checks. */
  readonly checkClock: CheckClock;
  /** Checks one peer, or all of them, within a second. */
  reschedule(peer?: Peer): void;
  /** The largest delay of a check in the last minute, in seconds. */
  lateSeconds(): number;
  add(connection: Peer): void;
  remove(connection: Peer): void;
  /** True if an open connection of this user has this secret. */
  knows(conn: string, user: string): boolean;
  /**
   * Closes the connection with this secret and frees its slot immediately for the client that
   * reconnected. Does nothing to a connection of another user.
   *
   * @returns False if there is no such connection.
   */
  replace(conn: string, user: string): boolean;
  /** Does the same for a client that has connected to another node. */
  replaceOf(session: string, isSame: (secret: string) => boolean): void;
  /** With `try_later`, the clients come back spread over a time that grows with their number. */
  close(name: CloseName, which?: (connection: Peer) => boolean): void;
  /** Closes connections that used an older token, spread over `graceS` seconds. */
  endBefore(version: number, graceS: number): void;
  /** Resolves after the last connection has closed. */
  empty(): Promise<void>;
}

/** Identifies a connection on all nodes. A secret. */
export const toConnectionSecret = (conn: string, user: string): string => `${user}\0${conn}`;

interface RegistryOptions {
  readonly clock: Clock;
  after(ms: number, run: () => void): Release;
  random(bytes: number): Uint8Array;
  /** How many clients may reconnect per second. */
  reconnectRate(): number;
}

export function createRegistry({
  clock,
  after,
  random,
  reconnectRate,
}: RegistryOptions): ConnectionRegistry {
  const all = new Map<string, Peer>();
  const byConn = new Map<string, Peer>();
  /** Connections closed in favour of a new one of the same client. They no longer count. */
  const replaced = new Set<Peer>();
  const checks = new ConnectionChecks(clock, after, all);
  const waiters: (() => void)[] = [];
  /**
   * One second, plus a random share of four seconds or of the time that this many clients need at
   * the reconnect rate.
   */
  function retryMs(clients: number): number {
    const [high = 0, low = 0] = random(2);
    const spreadMs = Math.max(4_000, (clients / reconnectRate()) * 1_000);
    return 1_000 + ((high * 256 + low) / 65_536) * spreadMs;
  }

  function replace(conn: string, user: string): boolean {
    const old = byConn.get(conn);
    if (old?.sender.id !== user) return false;
    byConn.delete(conn);
    replaced.add(old);
    old.close("replaced");
    return true;
  }

  return {
    count: () => all.size - replaced.size,
    list: () => all.values(),
    find: (id) => all.get(id),
    checkClock: checks,
    reschedule(peer) {
      for (const each of peer ? [peer] : all.values()) checks.reschedule(each);
    },
    lateSeconds: () => checks.lateMs() / 1_000,
    knows: (conn, user) => byConn.get(conn)?.sender.id === user,
    add(connection) {
      all.set(connection.id, connection);
      if (connection.conn !== undefined) byConn.set(connection.conn, connection);
      checks.reschedule(connection);
      checks.startOrStop();
    },
    remove(connection) {
      all.delete(connection.id);
      replaced.delete(connection);
      if (connection.conn !== undefined) byConn.delete(connection.conn);
      checks.startOrStop();
      if (all.size > 0) return;
      waiters.splice(0).forEach((done) => done());
    },
    replace,
    replaceOf(session, isSame) {
      for (const [conn, peer] of byConn)
        if (peer.usesSession(session) && isSame(toConnectionSecret(conn, peer.sender.id)))
          return void replace(conn, peer.sender.id);
    },
    close(name, which = () => true) {
      const chosen = [...all.values()].filter(which);
      for (const connection of chosen)
        connection.close(name, name === "try_later" ? retryMs(chosen.length) : undefined);
    },
    endBefore(version, graceS) {
      const old = [...all.values()].filter(({ tokenVersion = version }) => tokenVersion < version);
      old.forEach((connection, at) => {
        const end = (): void => connection.close("token_rotated", retryMs(old.length));
        if (graceS <= 0) end();
        else after(((at + 1) / old.length) * graceS * 1_000, end);
      });
    },
    empty: () => new Promise((done) => void (all.size === 0 ? done() : waiters.push(done))),
  };
}

/**
 * Copies a string. A substring keeps its whole source string in memory, and a URL may contain a
 * token.
 */
export const detachString = (text: string): string => Buffer.from(text).toString();

/** The part of a connection's data that is constant while it is open. */
export interface ConnectionInfo extends Pick<
  PicoConnection,
  "session" | "address" | "method" | "since"
> {
  readonly origin: string | undefined;
  readonly userAgent: string | undefined;
}

const maxHeaderLength = 300;
const truncate = (text: string | undefined): string | undefined =>
  text !== undefined && text.length > maxHeaderLength
    ? detachString(text.slice(0, maxHeaderLength))
    : text;

type ConnectionOrigin = Pick<ConnectionInfo, "session" | "address" | "method">;

export function connectionInfo(
  { session, address, method }: ConnectionOrigin,
  { origin, "user-agent": userAgent }: IncomingHttpHeaders,
  since: number,
): ConnectionInfo {
  return {
    session,
    address,
    method,
    since,
    origin: truncate(origin),
    userAgent: truncate(userAgent),
  };
}

function toView(
  peer: Peer,
  { session, address, method, since, origin, userAgent }: ConnectionInfo,
): PicoConnection {
  const { id: user, name: userName } = peer.sender;
  const names = {
    ...(userName !== undefined && { userName }),
    ...(origin !== undefined && { origin }),
    ...(userAgent !== undefined && { userAgent }),
  };
  return { id: peer.id, session, address, method, since, user, ...names, ...peer.traffic() };
}

/** Lists the connections for pages, and closes single ones. */
export function createConnectionList(connections: Pick<ConnectionRegistry, "list" | "find">) {
  return {
    list: (): PicoConnection[] =>
      [...connections.list()].flatMap((peer) => (peer.known ? [toView(peer, peer.known)] : [])),
    disconnect(id: string): boolean {
      const peer = connections.find(id);
      if (!peer?.known) return false;
      peer.close("forbidden");
      return true;
    },
  };
}
