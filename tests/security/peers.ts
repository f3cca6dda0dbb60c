import { connect, type Socket } from "node:net";
import {
  bearer,
  stand,
  wsLines,
  type Stand,
  type StandOptions,
} from "../support/pico-server-harness.ts";

/** A channel without rates, with an application that takes everything. */
export const startChannel = (options: StandOptions = {}): Promise<Stand> =>
  stand({
    ...options,
    config: { message_rate: 0, max_payload: 1_048_576, max_connections: 1_000, ...options.config },
  });

export interface RawPeer {
  readonly socket: Socket;
  /** The head of the answer. */
  readonly head: string;
  /** Resolves when the connection has ended: the code of the close frame, if there was one. */
  readonly closed: Promise<{ code: number | undefined; received: number }>;
}

/** A WebSocket as bytes, past its handshake. */
export function rawPeer(port: number, lines: readonly string[] = []): Promise<RawPeer> {
  const socket = connect(port, "127.0.0.1");
  let bytes = Buffer.alloc(0);
  return new Promise((resolve, reject) => {
    const closed = new Promise<{ code: number | undefined; received: number }>((done) => {
      socket.on("close", () => done({ code: closeCodeIn(bytes), received: bytes.length }));
    });
    socket.on("error", () => undefined);
    socket.once("close", () => reject(new Error("closed before the answer")));
    socket.on("data", function answered(chunk: Buffer) {
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = bytes.subarray(0, end).toString("latin1");
      bytes = bytes.subarray(end + 4);
      socket.off("data", answered);
      socket.on("data", (more: Buffer) => {
        bytes = Buffer.concat([bytes, more]);
      });
      resolve({ socket, head, closed });
    });
    socket.write(
      ["GET /pico HTTP/1.1", "Host: localhost", ...wsLines, bearer, ...lines, "", ""].join("\r\n"),
    );
  });
}

/** Reads a server's frames up to its close. */
function closeCodeIn(bytes: Buffer): number | undefined {
  for (let at = 0; at + 2 <= bytes.length;) {
    const length = bytes[at + 1]!;
    const size =
      length < 126
        ? length
        : length === 126
          ? bytes.readUInt16BE(at + 2)
          : Number(bytes.readBigUInt64BE(at + 2));
    const body = at + (length < 126 ? 2 : length === 126 ? 4 : 10);
    if ((bytes[at]! & 15) === 8) return size >= 2 ? bytes.readUInt16BE(body) : 1005;
    at = body + size;
  }
  return undefined;
}

/** Sends bytes and goes away; resolves with what was answered first. */
export function knockRaw(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    const leave = (): void => void socket.destroy();
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("\r\n\r\n")) leave();
    });
    socket.on("error", leave).on("close", () => resolve(text));
    socket.end(bytes); // half open: a request that is cut off is over
  });
}
