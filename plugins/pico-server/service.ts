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

/** What a page shows of the channel; asked, never announced. */
export interface PicoServer {
  status(): PicoServerStatus;
}
