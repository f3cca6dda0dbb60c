// Tests a Redis server whose reply does not end.
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { openRedisNode } from "../../support/redis-nodes.ts";

describe("an endless reply of Redis", () => {
  test("breaks the connection at 64 MiB", async () => {
    let sent = 0;
    const text = "x".repeat(1024 * 1024);
    const chunk = Buffer.from(`$${text.length}\r\n${text}\r\n`);
    const closed: Promise<unknown>[] = [];
    const server = createServer((socket) => {
      closed.push(new Promise((resolve) => void socket.on("close", resolve)));
      socket.on("error", () => undefined);
      socket.once("data", () => {
        socket.write("*999999999\r\n");
        const more = (): void => {
          while (!socket.destroyed && socket.write(chunk)) sent += chunk.length;
          sent += chunk.length;
        };
        socket.on("drain", more);
        more();
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const options = { url: `redis://127.0.0.1:${port}`, prefix: "p", patienceMs: 1_000 };
    await expect(openRedisNode(options)).rejects.toMatchObject({ code: "REDIS_UNREACHABLE" });
    await Promise.all(closed);
    expect(sent / closed.length).toBeLessThan(96 * 1024 * 1024);
    server.close();
  });
});
