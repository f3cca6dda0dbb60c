import type { Socket } from "node:net";

/** Bytes of one connection, as its socket counts them. */
export interface ByteCounts {
  readonly in: number;
  readonly out: number;
}

type CountingSocket = Pick<Socket, "bytesRead" | "bytesWritten">;

/** Counts from now on: what the socket carried before was the handshake, or another request. */
export class ByteCounter {
  private readonly socket: CountingSocket | null;
  private readonly readBefore: number;
  private readonly writtenBefore: number;

  constructor(socket: CountingSocket | null) {
    this.socket = socket;
    this.readBefore = socket?.bytesRead ?? 0;
    this.writtenBefore = socket?.bytesWritten ?? 0;
  }

  carried(): ByteCounts {
    const { bytesRead = 0, bytesWritten = 0 } = this.socket ?? {};
    return { in: bytesRead - this.readBefore, out: bytesWritten - this.writtenBefore };
  }
}
