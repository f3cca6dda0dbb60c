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
  /** Unix milliseconds, to the second. */
  readonly lastHeardAt: number;
}

/** What a page shows of the channel; asked, never announced. */
export interface PicoServer {
  status(): PicoServerStatus;
  /** The oldest first. */
  connections(): PicoConnection[];
  /** Closes it with 4403, after which clients do not come back by themselves. `false`: there is no such connection. */
  disconnect(id: string): boolean;
}
