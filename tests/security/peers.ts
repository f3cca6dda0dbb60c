import { connect, type Socket } from "node:net";
import {
  bearer,
  startPicoServer,
  wsLines,
  type PicoTestServer,
  type PicoTestServerOptions,
} from "../support/pico-server-harness.ts";

/** Starts a channel without rate limits and an application that accepts every message. */
export const startChannel = (options: PicoTestServerOptions = {}): Promise<PicoTestServer> =>
  startPicoServer({
    ...options,
    config: { message_rate: 0, max_payload: 1_048_576, max_connections: 1_000, ...options.config },
  });

export interface RawPeer {
  readonly socket: Socket;
  /** Status line and headers of the response. */
  readonly head: string;
  /** Resolves when the connection is closed, with the code of the close frame if there is one. */
  readonly closed: Promise<{ code: number | undefined; received: number }>;
}

/** Opens a WebSocket and gives access to its bytes after the handshake. */
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

/** Reads the frames of the server up to the close frame. */
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

/** Sends bytes, ends the connection and resolves with the start of the response. */
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
    socket.end(bytes); // half-closed, so an incomplete request is final
  });
}
