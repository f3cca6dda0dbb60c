// Tests the memory limit of responses that clients do not read, over real sockets.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { http } from "../../../plugins/http/index.ts";
import { get, portOf } from "../../support/http-client.ts";

const MiB = 1024 * 1024;

/** A client that reads nothing, from an address of its own on Linux. */
async function ask(port: number, bytes: number, localAddress = "127.0.0.1"): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.on("error", () => undefined).pause();
  await once(socket, "connect");
  socket.write(`GET /bytes?${bytes} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  return socket;
}

interface Served {
  readonly port: number;
  /** Waits until this many requests were handled, and returns whether each one fitted. */
  handled(count: number): Promise<readonly boolean[]>;
}

const serve = (visit: (served: Served) => Promise<void>): Promise<void> =>
  withKernel([http({ port: 0 })], async ({ kernel }) => {
    const service = kernel.services.http;
    const results: boolean[] = [];
    let check = (): void => undefined;
    service.request("/bytes", (request, response) => {
      const bytes = Number(request.url!.split("?")[1]);
      const isHeld = service.holdResponse(response, bytes) !== undefined;
      results.push(isHeld);
      response.writeHead(isHeld ? 200 : 503).end(isHeld ? "x".repeat(bytes) : "");
      check();
    });
    const handled = (count: number): Promise<readonly boolean[]> =>
      new Promise((resolve) => {
        check = () => void (results.length >= count && resolve(results));
        check();
      });
    await visit({ port: portOf(service), handled });
  });

describe("Http.holdResponse", () => {
  test("bounds unread responses of an address and of all addresses", () =>
    serve(async ({ port, handled }) => {
      const sockets: Socket[] = [];
      for (const address of ["127.0.0.1", "127.0.0.2", "127.0.0.3"])
        for (let index = 0; index < 6; index++) sockets.push(await ask(port, 8 * MiB, address));
      const results = await handled(18);
      expect(results.filter(Boolean)).toHaveLength(8);
      expect((await get(port, `/bytes?${64 * 1024}`)).status).toBe(200);
      expect((await get(port, `/bytes?${1 * MiB}`)).status).toBe(503);
      for (const socket of sockets) socket.destroy();
    }));

  test("bounds the number of unread responses", () =>
    serve(async ({ port, handled }) => {
      const sockets: Socket[] = [];
      // Pipelined requests wait for their turn, so each needs a connection of its own.
      for (let index = 0; index < 10; index++) sockets.push(await ask(port, 200 * 1024));
      expect((await handled(10)).every(Boolean)).toBe(true);
      for (const socket of sockets) socket.destroy();
    }));

  test("frees the memory when a client reads or leaves", () =>
    serve(async ({ port, handled }) => {
      const sockets: Socket[] = [];
      for (let index = 0; index < 5; index++) sockets.push(await ask(port, 8 * MiB));
      expect(await handled(5)).toEqual([true, true, true, true, false]);
      sockets[0]!.destroy();
      sockets[1]!.resume();
      let bytes = 0;
      await new Promise<void>((resolve) => {
        sockets[1]!.on("data", (chunk) => {
          bytes += chunk.length;
          if (bytes > 8 * MiB) resolve();
        });
      });
      await expect
        .poll(async () => (await get(port, `/bytes?${8 * MiB}`)).status, { interval: 20 })
        .toBe(200);
      for (const socket of sockets) socket.destroy();
    }));

  test("listens to a response once, and frees all parts that it holds", () =>
    withKernel([http({ port: 0 })], async ({ kernel }) => {
      const service = kernel.services.http;
      const parts = 100;
      const seen: { readonly fitting: number; readonly listeners: number }[] = [];
      service.request("/parts", (_, response) => {
        const before = response.listenerCount("close");
        const held = Array.from({ length: parts }, () => service.holdResponse(response, 70_000));
        const fitting = held.filter((release) => release !== undefined).length;
        seen.push({ fitting, listeners: response.listenerCount("close") - before });
        response.writeHead(200).end();
      });
      for (const round of [1, 2]) {
        expect((await get(portOf(service), "/parts")).status).toBe(200);
        expect(seen).toHaveLength(round);
      }
      expect(seen).toEqual([1, 2].map(() => ({ fitting: parts, listeners: 1 })));
    }));

  test("accepts a single response that exceeds the limit", () =>
    serve(async ({ port }) => {
      expect((await get(port, `/bytes?${80 * MiB}`)).status).toBe(200);
    }));
});
