// Types of the events of a socket.

/** Why a handshake failed. */
export interface HandshakeRejection {
  /** HTTP status; undefined if there was no response. */
  readonly status?: number | undefined;
  /** The field `error` of the response body. */
  readonly code?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** An event of a socket. After `closed` or `failed` there are no more. */
export type SocketEvent =
  /** `heard`: a ping arrived, so the server is alive. */
  | { readonly type: "opened" | "heard" }
  | { readonly type: "message"; readonly data: string | Uint8Array }
  /** The socket never opened. */
  | ({ readonly type: "failed" } & HandshakeRejection)
  | { readonly type: "closed"; readonly code: number; readonly reason: string };
