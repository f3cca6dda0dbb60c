import type { IncomingHttpHeaders } from "node:http";
import type { Clock, Release } from "../../../kernel/index.ts";
import type { CloseName } from "../../../lib/pico-wire/index.ts";
import type { PicoConnection } from "../service.ts";
import type { ByteCounts } from "./liveness.ts";
import { createTimerWheel, type Timer, type WheelClock } from "./timer-wheel.ts";

/** What changes while somebody is connected. */
export type Traffic = Pick<
  PicoConnection,
  "messagesIn" | "messagesOut" | "queuedBytes" | "lastHeardAt"
>;

/** A peer that holds a slot: a WebSocket, a stream of events, somebody who waits for an answer. */
export interface Peer extends Timer {
  readonly id: string;
  /** A secret of its client, who may come back and take its place. */
  readonly conn?: string | undefined;
  /** Of the token it came with; undefined for the dashboard's own page. */
  readonly tokenVersion: number | undefined;
  /** Says why, and cuts the socket a second later if the peer does not answer. */
  close(name: CloseName, retryMs?: number): void;
  /** As pages show it; who waits for the answer to a posted message is not shown. */
  known?: ConnectionInfo | undefined;
  /** Pings, and ends what is dead or stuck. */
  check(): number;
  /** The application has a message of its sessions, or something waits to be sent to it. */
  isBusy(): boolean;
  /** Bytes on its socket since it began. */
  carried(): ByteCounts;
  traffic(): Traffic;
}

/** All connections, and the wheel that looks at them. */
export interface ConnectionRegistry {
  /** Slots that are taken. */
  count(): number;
  /** All that are here, the oldest first. */
  list(): Iterable<Peer>;
  find(id: string): Peer | undefined;
  /** The time they are watched in. */
  readonly awake: WheelClock;
  /** Each of them is looked at within a second, or this one. */
  reschedule(one?: Peer): void;
  /** Seconds the wheel came too late at worst in the last minute. */
  lateSeconds(): number;
  add(connection: Peer): void;
  remove(connection: Peer): void;
  /** Whether this secret belongs to somebody who is here. */
  knows(conn: string): boolean;
  /** Ends it, and frees its slot at once for the client that came back. */
  replace(conn: string): void;
  close(name: CloseName, which?: (connection: Peer) => boolean): void;
  /** Ends what an older token opened, spread over `graceS` seconds. */
  endBefore(version: number, graceS: number): void;
  /** Resolves when the last one is gone. */
  empty(): Promise<void>;
}

interface RegistryOptions {
  readonly clock: Clock;
  after(ms: number, run: () => void): Release;
  random(bytes: number): Uint8Array;
  /** Clients that may come back per second. */
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
  /** Closed for their own successors: they hold no slot while they leave. */
  const replaced = new Set<Peer>();
  const wheel = createTimerWheel(clock, after);
  const waiters: (() => void)[] = [];
  /** From one second on, over four or as many more as so many clients need. */
  function retryMs(clients: number): number {
    const [high = 0, low = 0] = random(2);
    const spreadMs = Math.max(4_000, (clients / reconnectRate()) * 1_000);
    return 1_000 + ((high * 256 + low) / 65_536) * spreadMs;
  }

  return {
    count: () => all.size - replaced.size,
    list: () => all.values(),
    find: (id) => all.get(id),
    awake: wheel,
    reschedule(one) {
      for (const peer of one ? [one] : all.values()) wheel.reschedule(peer);
    },
    lateSeconds: () => wheel.lateMs() / 1_000,
    knows: (conn) => byConn.has(conn),
    add(connection) {
      all.set(connection.id, connection);
      if (connection.conn !== undefined) byConn.set(connection.conn, connection);
      wheel.add(connection);
    },
    remove(connection) {
      all.delete(connection.id);
      replaced.delete(connection);
      if (connection.conn !== undefined) byConn.delete(connection.conn);
      wheel.remove(connection);
      if (all.size > 0) return;
      waiters.splice(0).forEach((done) => done());
    },
    replace(conn) {
      const old = byConn.get(conn);
      if (!old) return;
      byConn.delete(conn);
      replaced.add(old);
      old.close("replaced");
    },
    close(name, which = () => true) {
      for (const connection of [...all.values()].filter(which)) connection.close(name);
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

/** The same text by itself: one that was cut from another keeps the whole of it, and an address may hold a token. */
export const detachString = (text: string): string => Buffer.from(text).toString();

/** What does not change while somebody is connected. */
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

/** Key by key: of copied objects each one would have a shape of its own, larger than itself. */
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
  const names = {
    ...(origin !== undefined && { origin }),
    ...(userAgent !== undefined && { userAgent }),
  };
  return { id: peer.id, session, address, method, since, ...names, ...peer.traffic() };
}

/** Who is connected, for pages: names, where from, and what went over it. */
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
