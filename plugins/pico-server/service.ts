// The service, events and shape of the pico-server plugin.
import type { Channels } from "../channels/index.ts";
import type { Http } from "../http/index.ts";
import type { Settings } from "../settings/index.ts";
import type { TokenStoreEvents, Tokens } from "../token-store/index.ts";
import type { PicoServerConfig, PicoServerInput } from "./config.ts";

/** A summary of the channel. */
export interface PicoServerStatus {
  readonly enabled: boolean;
  /** Path of the channel, including the base path. */
  readonly path: string;
  readonly listener: "dashboard" | "gateway";
  readonly connections: number;
  readonly maxConnections: number;
  /** Messages from clients since startup. */
  readonly messagesIn: number;
  /** Messages to clients since startup. */
  readonly messagesOut: number;
}

/** An open connection. */
export interface PicoConnection {
  readonly id: string;
  /** Session id from the URL. The connection may use other sessions too. */
  readonly session: string;
  readonly address: string;
  readonly method: "header" | "subprotocol" | "query" | "dashboard";
  readonly origin?: string;
  readonly userAgent?: string;
  /** Unix time in milliseconds. */
  readonly since: number;
  /** Messages delivered to the application. */
  readonly messagesIn: number;
  /** Frames of sessions that were sent to the client. */
  readonly messagesOut: number;
  /** Bytes that wait to be sent. */
  readonly queuedBytes: number;
  /**
   * Unix time in milliseconds of the last complete frame, or of the check that found a part of one.
   */
  readonly lastHeardAt: number;
}

type CountByName = Readonly<Record<string, number>>;

/** Counters since startup, and current gauges. All label sets are fixed. */
export interface PicoMetrics {
  readonly connections: number;
  /** WebSocket handshakes by result: `accepted`, or the rejection code. */
  readonly handshakes: CountByName;
  /**
   * By the side that closed the connection, then by close code. `other`: codes that only clients
   * send.
   */
  readonly closes: Readonly<Record<"client" | "server" | "network", CountByName>>;
  /** Frames by type, of WebSockets and event streams. */
  readonly frames: Readonly<Record<"in" | "out", CountByName>>;
  readonly bytes: Readonly<Record<"in" | "out", number>>;
  /** Bytes that wait to be sent, of all connections. */
  readonly queueBytes: number;
  /** Queued frames that a later frame replaced. */
  readonly coalesced: number;
  /** Queued frames that were dropped: `typing` or `closed`. */
  readonly dropped: CountByName;
  /** Resumed sessions: `resumed`, or `gap` if frames were missing. */
  readonly resumes: CountByName;
  /** Gaps by reason. */
  readonly gaps: CountByName;
  /** By the method of the first token (`none`: no token), then by reason. */
  readonly authFailures: Readonly<Record<string, CountByName>>;
  /** Largest delay of connection checks in the last minute, in seconds. */
  readonly wheelLateSeconds: number;
}

/** The state of the channel and control over its connections. */
export interface PicoServer {
  /** Returns a summary of the channel. */
  status(): PicoServerStatus;
  /**
   * The WebSocket URL for clients on the same machine; undefined while the channel is off or no
   * port is open.
   */
  url(): string | undefined;
  /** Returns the counters since startup. */
  metrics(): PicoMetrics;
  /** Seconds that closing all clients may take when the service stops. */
  stopSeconds(): number;
  /** Lists the open connections, oldest first. */
  connections(): PicoConnection[];
  /**
   * Closes a connection with code 4403, so that its client does not reconnect by itself.
   * @returns `false` if there is no such connection.
   */
  disconnect(id: string): boolean;
}

/** Events that the plugin emits. */
export type PicoServerEvents = {
  /** A connection was opened. */
  "pico-server:connected": {
    connection: string;
    session: string;
    address: string;
    method: "header" | "subprotocol" | "query" | "dashboard";
  };
  /** A connection was closed. */
  "pico-server:disconnected": {
    connection: string;
    session: string;
    code: number;
    reason: string;
    initiator: "client" | "server" | "network";
  };
  /**
   * A handshake or request was rejected. `method`: how the token was sent, absent without a token.
   * `origin`: the origin that is not allowed. `retryAfterSeconds`: set if the address tried too
   * many wrong tokens.
   */
  "pico-server:refused": {
    code: string;
    address: string;
    method?: "header" | "subprotocol" | "query";
    origin?: string;
    retryAfterSeconds?: number;
  };
};

/** The plugin's configuration, events and services. */
export type PicoServerShape = {
  config: PicoServerConfig;
  section: { "channels.pico": PicoServerInput };
  emits: PicoServerEvents;
  listens: Pick<TokenStoreEvents, "token-store:rotated" | "token-store:removed">;
  needs: { tokens: Tokens; http: Http; channels: Channels };
  uses: { settings: Settings };
  offers: { picoServer: PicoServer };
};
