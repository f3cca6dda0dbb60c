// The service, events and shape of the pico-server plugin.
import type { Channels } from "../channels/index.ts";
import type { Conversations } from "../conversations/index.ts";
import type { MediaFiles } from "../media/index.ts";
import type { Http } from "../http/index.ts";
import type { Keys } from "../keys/index.ts";
import type { Settings } from "../settings/index.ts";
import type { TokenStoreEvents, Tokens } from "../token-store/index.ts";
import type { PicoServerConfig, PicoServerInput } from "./config.ts";
import type { PicoProtocol } from "./protocol-service.ts";

/** A summary of the channel. */
export interface PicoServerStatus {
  /** Whether the setting `channels.pico.enabled` is on, so that clients can connect. */
  readonly enabled: boolean;
  /** Path of the channel, including the base path. */
  readonly path: string;
  /**
   * `gateway`: the channel has a port of its own (plugin `gateway`). `dashboard`: it shares the
   * port of the http plugin.
   */
  readonly listener: "dashboard" | "gateway";
  /** Open WebSockets, event streams and waiting `POST` requests. */
  readonly connections: number;
  /** The setting `channels.pico.max_connections`: handshakes beyond it receive 503. Default 100. */
  readonly maxConnections: number;
  /** Messages from clients since startup. */
  readonly messagesIn: number;
  /** Messages to clients since startup. */
  readonly messagesOut: number;
}

/** An open connection. */
export interface PicoConnection {
  /**
   * Identifies the connection in events and for `disconnect`: 32 hexadecimal digits, made by the
   * server.
   */
  readonly id: string;
  /** Session id from the URL. The connection may use other sessions too. */
  readonly session: string;
  /** IP address of the client; behind a trusted proxy, the address that the proxy forwarded. */
  readonly address: string;
  /**
   * How the client sent its token. `dashboard`: a page of the dashboard, which has a sign-in
   * instead.
   */
  readonly method: "header" | "subprotocol" | "query" | "dashboard";
  /** Id of the sender of its messages: `owner`, `token:pico`, `host:ID` or `key:ID`. */
  readonly user: string;
  /** Name of the user, if the host gave one. */
  readonly userName?: string;
  /** `Origin` header (RFC 6454) of the handshake: the page that connected. Absent for programs. */
  readonly origin?: string;
  /** `User-Agent` header of the handshake. Untrusted text. Absent if the client sent none. */
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
  /** Connections that are open now. */
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
  /** Bytes on connections after their handshake since startup: `in` from clients, `out` to them. */
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
  /**
   * Opens the sessions of the channel to a plugin with a protocol of its own.
   *
   * @param name - Value of `protocol` in its messages, for example `openai`.
   */
  protocol(name: string): PicoProtocol;
}

/** Events that the plugin emits. */
export type PicoServerEvents = {
  /** A connection was opened. */
  "pico-server:connected": {
    /** Id of the connection: 32 hexadecimal digits, as in {@link PicoConnection}. */
    connection: string;
    /** Session id from the URL, or the one that the server made. */
    session: string;
    /** IP address of the client, as forwarded by a trusted proxy. */
    address: string;
    /** How the client sent its token. `dashboard`: a page of the dashboard. */
    method: "header" | "subprotocol" | "query" | "dashboard";
    /** Id of the sender of its messages: `owner`, `token:pico`, `host:ID` or `key:ID`. */
    user: string;
  };
  /** A connection was closed. */
  "pico-server:disconnected": {
    /** Id of the connection: 32 hexadecimal digits, as in {@link PicoConnection}. */
    connection: string;
    /** Session id from the URL, or the one that the server made. */
    session: string;
    /** WebSocket close code (RFC 6455 §7.4); 1006 if the connection broke. */
    code: number;
    /** Text of the close frame: a name such as `heartbeat`, then `; retry=<ms>` if the server sent
     *  one. Untrusted text if the client closed; may be empty. */
    reason: string;
    /** The side that closed the connection. `network`: it broke without a close frame. */
    initiator: "client" | "server" | "network";
  };
  /**
   * A handshake or request was rejected. `method`: how the token was sent, absent without a token.
   * `origin`: the origin that is not allowed. `retryAfterSeconds`: set if the address tried too
   * many wrong tokens.
   */
  "pico-server:refused": {
    /** Code of the rejection: one of `rejections` of `doorward/plugins/pico-wire`. */
    code: string;
    /** IP address of the client, as forwarded by a trusted proxy. */
    address: string;
    /** How the first token was sent. Absent without a token. */
    method?: "header" | "subprotocol" | "query";
    /** The `Origin` header that is not allowed. */
    origin?: string;
    /** Why the sign-in of a browser does not count, with the setting that helps. */
    why?: string;
    /** Seconds until the address may try again, if it is blocked. */
    retryAfterSeconds?: number;
    /** The identified person who named a session of others. */
    user?: string;
  };
};

/** The plugin's configuration, events and services. */
export type PicoServerShape = {
  /** The validated section `channels.pico`. */
  config: PicoServerConfig;
  /** The section as users write it: every field is optional. */
  section: { "channels.pico": PicoServerInput };
  /** Connections that open and close, and rejected clients. */
  emits: PicoServerEvents;
  /**
   * A rotated or removed channel token closes the connections that used it. A token that equals a
   * session id makes the id unreadable in views and logs.
   */
  listens: TokenStoreEvents;
  /**
   * The token store for the channel token, the http plugin for its routes, the channels service for
   * messages.
   */
  needs: { tokens: Tokens; http: Http; channels: Channels };
  /**
   * The settings service, which can turn the channel on while the kernel runs, the log of
   * conversations, files, and named keys. Without conversations, the channel keeps its sessions in
   * memory; without keys, it is not served at `/keys`.
   */
  uses: { settings: Settings; conversations: Conversations; media: MediaFiles; keys: Keys };
  /** The state of the channel and control over its connections. */
  offers: { picoServer: PicoServer };
};
