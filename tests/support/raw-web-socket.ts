import { connect, type Socket } from "node:net";
import { bearer, wsLines, type PicoTestServer } from "./pico-server-harness.ts";

/** Reads until the received bytes are complete. */
export function read(socket: Socket, isWhole: (bytes: Buffer) => boolean): Promise<Buffer> {
  return new Promise((done) => {
    let bytes = Buffer.alloc(0);
    const onData = (piece: Buffer): void => {
      bytes = Buffer.concat([bytes, piece]);
      if (!isWhole(bytes)) return;
      socket.off("data", onData);
      done(bytes);
    };
    socket.on("data", onData);
  });
}

/** A raw TCP client after its handshake. It reads only while a test calls `read`. */
export async function connectRaw(testServer: PicoTestServer, path = "/pico") {
  const socket = connect(testServer.port, "127.0.0.1").on("error", () => undefined);
  socket.write(
    [`GET ${path} HTTP/1.1`, "Host: localhost", ...wsLines, bearer, "", ""].join("\r\n"),
  );
  await read(socket, (bytes) => bytes.includes("\r\n\r\n"));
  return socket;
}

/** A client frame with a zero mask. */
export const masked = (first: number, payload: string | Buffer): Buffer => {
  const bytes = Buffer.from(payload);
  return Buffer.concat([Buffer.from([first, 0x80 | bytes.length, 0, 0, 0, 0]), bytes]);
};

/** Waits for the next close of a connection. */
export const disconnected = async (testServer: PicoTestServer) => {
  const { code, reason, initiator } = await testServer.fact("pico-server:disconnected");
  return { code, reason, initiator };
};
