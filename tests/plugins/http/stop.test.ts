// Tests that the HTTP plugin closes its connections at stop.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createKernel, type Kernel } from "../../../kernel/index.ts";
import { http } from "../../../plugins/http/index.ts";
import { freePort } from "../../e2e/free-port.ts";
import { get, portOf, raw, stopwatch } from "../../support/http-client.ts";
import { selfSigned } from "./certificate.ts";

const folder = mkdtempSync(join(tmpdir(), "http-"));
afterAll(() => rmSync(folder, { recursive: true }));

const refused = (port: number): Promise<unknown> =>
  expect(get(port, "/")).rejects.toMatchObject({ code: "ECONNREFUSED" });

describe("http stop", () => {
  const expectNoSockets = async (): Promise<void> => {
    await expect
      .poll(() => process.getActiveResourcesInfo().filter((kind) => /TCP|TLS/.test(kind)))
      .toEqual([]);
  };

  async function startKernel(): Promise<{
    kernel: Kernel<[ReturnType<typeof http>]>;
    port: number;
  }> {
    const kernel = createKernel([http({ port: 0 })]);
    await kernel.start();
    return { kernel, port: portOf(kernel.services.http) };
  }

  test("closes all kinds of connections without delay", async () => {
    const { kernel, port } = await startKernel();
    kernel.services.http.request("/", (_, response) => void response.end("fine"));
    kernel.services.http.upgrade(
      "/pico",
      (_, socket) => void socket.write("HTTP/1.1 101 Fine\r\n\r\n"),
    );
    const texts = [
      "", // connected, nothing sent
      "GET / HT", // half a request
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n", // kept alive
      // upgraded
      "GET /pico HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    ];
    const sockets = texts.map((text) => {
      const socket = connect(port, "127.0.0.1", () => void socket.write(text));
      return socket.resume().on("error", () => {});
    });
    await Promise.all([once(sockets[2]!, "data"), once(sockets[3]!, "data")]);
    const gone = Promise.all(sockets.map((socket) => once(socket, "close")));
    const passed = stopwatch();
    await kernel.stop();
    expect(passed()).toBeLessThan(900);
    await gone;
    await expectNoSockets();
  });

  test("finishes the current response and accepts no new connections", async () => {
    const { kernel, port } = await startKernel();
    let finish = (): void => {};
    const asked = new Promise<void>((resolve) => {
      kernel.services.http.request("/", (_, response) => {
        finish = () => void response.end("finished");
        resolve();
      });
    });
    const answer = raw(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await asked;
    const stopped = kernel.stop();
    await refused(port);
    finish();
    expect(await answer).toMatchObject({
      status: 200,
      body: "finished",
      headers: { connection: "close" },
    });
    await stopped;
  });

  test("closes unfinished responses after a second", async () => {
    const { kernel, port } = await startKernel();
    const asked = new Promise<void>((resolve) => {
      kernel.services.http.request("/", (_, response) => {
        response.write("unfinished");
        resolve();
      });
    });
    const answer = raw(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await asked;
    const startedAt = performance.now();
    await kernel.stop();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    await answer;
    await expectNoSockets();
  });

  test("ignores queued requests of a closed connection", async () => {
    const { kernel, port } = await startKernel();
    let closed = 0;
    const asked = new Promise<void>((resolve) => {
      kernel.services.http.request("/slow", (_, response) => {
        response.on("close", () => {
          closed += 1;
        });
        resolve();
      });
    });
    const socket = connect(port, "127.0.0.1");
    const paths = ["/slow", "/slow", "/nowhere", "/slow?last"];
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(""));
    await asked;
    socket.destroy();
    await expect.poll(() => closed).toBe(1);
    await kernel.stop();
    expect(closed).toBe(1);
    await expectNoSockets();
  });

  test("closes all connections with TLS", async () => {
    const { cert, key } = selfSigned();
    const tls = { cert: join(folder, "c.pem"), key: join(folder, "k.pem") };
    writeFileSync(tls.cert, cert);
    writeFileSync(tls.key, key);
    const kernel = createKernel([http({ port: 0 })], { config: { launcher: { tls } } });
    await kernel.start();
    kernel.services.http.request("/", (_, response) => void response.end("fine"));
    const port = portOf(kernel.services.http);
    const bare = connect(port, "127.0.0.1")
      .resume()
      .on("error", () => {});
    const kept = raw(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", true);
    await once(bare, "connect");
    expect(
      (await raw(port, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", true)).status,
    ).toBe(200);
    await kernel.stop();
    await kept.catch(() => {});
    if (!bare.closed) await once(bare, "close");
    await expectNoSockets();
  });

  test("can start again on the same port", async () => {
    const port = await freePort();
    const kernel = createKernel([http({ port })]);
    for (let round = 0; round < 2; round += 1) {
      await kernel.start();
      kernel.services.http.request("/", (_, response) => void response.end(`round ${round}`));
      expect((await get(port, "/")).body).toContain(`round ${round}`);
      await kernel.stop();
    }
  });
});
