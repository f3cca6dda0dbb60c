import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { maxLinesPerTurn } from "../../../plugins/http/connection-limits.ts";
import { http } from "../../../plugins/http/index.ts";
import { portOf } from "../../support/http-client.ts";

const connections = 40;
const bytes = 4_000;

describe("bodies in chunks of one byte", () => {
  test("take a limited part of each turn", () =>
    withKernel([http({ port: 0 })], async ({ kernel }) => {
      const service = kernel.services.http;
      let inTurn = 0;
      let maxInTurn = 0;
      const received: number[] = [];
      service.request("/read", (request, response) => {
        let size = 0;
        request.on("data", (chunk: Buffer) => {
          if (inTurn === 0) setImmediate(() => (inTurn = 0));
          inTurn += 1;
          maxInTurn = Math.max(maxInTurn, inTurn);
          size += chunk.length;
        });
        request.on("end", () => {
          received.push(size);
          response.end("read");
        });
      });
      const body = "1\r\na\r\n".repeat(bytes) + "0\r\n\r\n";
      const head = "POST /read HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
      const get = "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n";
      const sockets = await Promise.all(
        Array.from({ length: connections }, async () => {
          const socket = connect(portOf(service), "127.0.0.1");
          socket.write(get);
          await once(socket, "data");
          return socket;
        }),
      );
      const answers = sockets.map(async (socket) => {
        let text = "";
        socket.on("data", (chunk) => {
          text += String(chunk);
          if (text.includes("404 Not Found")) socket.destroy();
        });
        await once(socket, "close");
        return text.startsWith("HTTP/1.1 200 OK");
      });
      // All bodies are there when the server reads for the first time.
      for (const socket of sockets) socket.write(head + body + get);
      expect(await Promise.all(answers)).toEqual(Array(connections).fill(true));
      expect(received).toEqual(Array(connections).fill(bytes));
      expect(maxInTurn).toBeLessThanOrEqual(maxLinesPerTurn);
    }));
});
