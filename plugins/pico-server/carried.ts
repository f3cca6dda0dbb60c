import type { Socket } from "node:net";

/** Bytes of one connection, as its socket counts them. */
export interface Carried {
  readonly in: number;
  readonly out: number;
}

/** Counts from now on: what the socket carried before was the handshake, or another request. */
export function meter(socket: Pick<Socket, "bytesRead" | "bytesWritten"> | null): () => Carried {
  const { bytesRead = 0, bytesWritten = 0 } = socket ?? {};
  return () => ({ in: (socket?.bytesRead ?? 0) - bytesRead, out: (socket?.bytesWritten ?? 0) - bytesWritten });
}
