import type { Channels } from "../channels/index.ts";
import type { Http } from "../http/index.ts";
import type { Settings } from "../settings/index.ts";
import type { TokenStoreEvents, Tokens } from "../token-store/index.ts";
import type { PicoServerConfig, PicoServerInput } from "./config.ts";

export interface PicoServerStatus {
  readonly enabled: boolean;
  /** The channel's path with the base path. */
  readonly path: string;
  readonly listener: "dashboard" | "gateway";
  readonly connections: number;
  readonly maxConnections: number;
  /** Messages since start: from clients, and to clients. */
  readonly messagesIn: number;
  readonly messagesOut: number;
}

export interface PicoConnection {
  readonly id: string;
  /** The one it named in its address; it may use others. */
  readonly session: string;
  readonly address: string;
  readonly method: "header" | "subprotocol" | "query" | "dashboard";
  readonly origin?: string;
  readonly userAgent?: string;
  /** Unix milliseconds. */
  readonly since: number;
  /** Messages the application was given, and frames of sessions sent to it. */
  readonly messagesIn: number;
  readonly messagesOut: number;
  /** Bytes that wait to be sent. */
  readonly queuedBytes: number;
  /** Unix milliseconds: when its last whole frame had come, or when it was seen that a part of one had. */
  readonly lastHeardAt: number;
}

type CountByName = Readonly<Record<string, number>>;

/** Counts since the start, and gauges of this moment. The names inside are closed sets. */
export interface PicoMetrics {
  readonly connections: number;
  /** WebSocket handshakes by result: `accepted`, or the code of the refusal. */
  readonly handshakes: CountByName;
  /** By who ended the connection, then by close code; `other`: codes that only a client says. */
  readonly closes: Readonly<Record<"client" | "server" | "network", CountByName>>;
  /** By type, of WebSockets and event streams. */
  readonly frames: Readonly<Record<"in" | "out", CountByName>>;
  readonly bytes: Readonly<Record<"in" | "out", number>>;
  readonly queueBytes: number;
  readonly coalesced: number;
  readonly dropped: CountByName;
  readonly resumes: CountByName;
  readonly gaps: CountByName;
  /** By the method of the first token that was offered (`none`: no token), then by reason. */
  readonly authFailures: Readonly<Record<string, CountByName>>;
  /** How late the process looked at its connections, at worst in the last minute. */
  readonly wheelLateSeconds: number;
}

/** What a page shows of the channel; asked, never announced. */
export interface PicoServer {
  status(): PicoServerStatus;
  /** Where this machine reaches it (`ws:`, `wss:`); undefined while it is off, or no port is open. */
  url(): string | undefined;
  metrics(): PicoMetrics;
  /** Seconds that sending the clients away may take when the service stops. */
  stopSeconds(): number;
  /** The oldest first. */
  connections(): PicoConnection[];
  /** Closes it with 4403, after which clients do not come back by themselves. `false`: there is no such connection. */
  disconnect(id: string): boolean;
}

export type PicoServerEvents = {
  /** 101 was sent. */
  "pico-server:connected": {
    connection: string;
    session: string;
    address: string;
    method: "header" | "subprotocol" | "query" | "dashboard";
  };
  /** The socket is gone. */
  "pico-server:disconnected": {
    connection: string;
    session: string;
    code: number;
    reason: string;
    initiator: "client" | "server" | "network";
  };
  /** A handshake or request was refused. `method`: how the token came, absent without one; `origin`: the page that is
   *  not allowed; `retryAfterSeconds`: the address tried too many wrong tokens. */
  "pico-server:refused": {
    code: string;
    address: string;
    method?: "header" | "subprotocol" | "query";
    origin?: string;
    retryAfterSeconds?: number;
  };
};

export type PicoServerShape = {
  config: PicoServerConfig;
  section: { "channels.pico": PicoServerInput };
  emits: PicoServerEvents;
  listens: Pick<TokenStoreEvents, "token-store:rotated" | "token-store:removed">;
  needs: { tokens: Tokens; http: Http; channels: Channels };
  uses: { settings: Settings };
  offers: { picoServer: PicoServer };
};
