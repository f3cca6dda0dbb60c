import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createSecureServer } from "node:https";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { proxyFor } from "../../../plugins/pico-client/proxy.ts";
import { selfSigned } from "../http/certificate.ts";
import { createProxy } from "./tunnel.ts";
import { startRemote, startPicoClient } from "../../support/pico-client-harness.ts";

/** A TLS server that acknowledges every message. */
async function createSecure() {
  const { cert, key } = selfSigned();
  const server = createSecureServer({ cert, key });
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => socket.on("message", () => socket.send('{"type":"pong"}')));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `wss://localhost:${(server.address() as AddressInfo).port}/pico`,
    cert,
    async [Symbol.asyncDispose]() {
      for (const client of sockets.clients) client.terminate();
      server.closeAllConnections();
      server.close();
    },
  };
}

describe("picoClient with a proxy", () => {
  test("connects through the proxy of the environment with its credentials", async () => {
    await using proxy = await createProxy();
    await using there = await startRemote();
    await using here = await startPicoClient(there.url, {
      env: { http_proxy: `http://me:p%40ss@${proxy.address}` },
    });
    await expect(here.link.send({ content: "x" })).resolves.toMatchObject({ status: "delivered" });
    expect(proxy.asked).toEqual([
      {
        target: new URL(there.url).host,
        authorization: `Basic ${Buffer.from("me:p@ss").toString("base64")}`,
      },
    ]);
  });

  test("reports and retries a proxy that rejects the tunnel", async () => {
    await using proxy = await createProxy(407);
    await using there = await startRemote();
    await using here = await startPicoClient(there.url, { env: { ALL_PROXY: proxy.address } });
    await here.until(
      here.changes,
      ({ to, reason }) => to === "waiting" && reason === "proxy_refused",
    );
  });

  test("closes the proxy connection when the attempt times out", async () => {
    let left = (): void => {};
    const isLeft = new Promise<void>((resolve) => {
      left = resolve;
    });
    const silent = createServer((socket) =>
      socket
        .on("error", () => {})
        .on("close", () => left())
        .resume(),
    );
    const knocked = once(silent.listen(0, "127.0.0.1"), "connection");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const here = await startPicoClient("ws://there.example/pico", {
      env: { HTTP_PROXY: `127.0.0.1:${port}` },
    });
    await knocked;
    await here[Symbol.asyncDispose]();
    await isLeft;
    silent.close();
  });

  test("closes a silent tunnel when the attempt times out", async () => {
    const left: Promise<unknown>[] = [];
    const proxy = createServer((socket) => {
      left.push(new Promise((resolve) => socket.on("error", () => {}).on("close", resolve)));
      socket.once("data", () => socket.write("HTTP/1.1 200 Yes\r\n\r\n")).resume();
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const HTTPS_PROXY = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await using here = await startPicoClient("wss://127.0.0.1:1/pico", { env: { HTTPS_PROXY } });
    await here.until(here.changes, ({ to, reason }) => to === "waiting" && reason === "timeout");
    await left[0];
    await here[Symbol.asyncDispose]();
    await Promise.all(left);
    proxy.close();
  });

  test("rejects untrusted certificates and accepts the one in ca_file", async () => {
    const folder = await mkdtemp(join(tmpdir(), "doorward-ca-"));
    await using secure = await createSecure();
    await using proxy = await createProxy();
    const ca = join(folder, "ca.pem");
    await writeFile(ca, secure.cert);
    {
      await using here = await startPicoClient(secure.url);
      await here.until(
        here.changes,
        ({ to, reason }) => to === "waiting" && reason === "certificate",
      );
    }
    const env = { HTTPS_PROXY: `http://${proxy.address}` };
    const byAddress = secure.url.replace("localhost", "127.0.0.1");
    for (const [url, given] of [
      [secure.url, {}],
      [secure.url, env],
      [byAddress, {}],
      [byAddress, env],
    ] as const) {
      await using here = await startPicoClient(url, { config: { ca_file: ca }, env: given });
      await here.until(here.changes, ({ to }) => to === "open");
      await expect(here.link.send({ content: "x" })).resolves.toMatchObject({ status: "written" });
    }
    for (const host of ["127.0.0.2", "elsewhere.example"]) {
      await using here = await startPicoClient(secure.url.replace("localhost", host), {
        config: { ca_file: ca },
        env,
      });
      await here.until(
        here.changes,
        ({ to, reason }) => to === "waiting" && reason === "certificate",
      );
    }
    expect(proxy.asked.length).toBe(4);
    await rm(folder, { recursive: true });
  });

  test.each([
    ["ws://a.example/pico", { HTTP_PROXY: "http://p:1" }, "http://p:1/"],
    ["wss://a.example/pico", { HTTP_PROXY: "http://p:1" }, undefined],
    ["wss://a.example/pico", { HTTPS_PROXY: "p:1" }, "http://p:1/"],
    [
      "wss://a.example/pico",
      { https_proxy: "http://low:1", HTTPS_PROXY: "http://up:1" },
      "http://low:1/",
    ],
    ["wss://a.example/pico", { ALL_PROXY: "https://p:1" }, "https://p:1/"],
    ["wss://a.example/pico", { ALL_PROXY: "p:1", NO_PROXY: "*" }, undefined],
    ["wss://a.example/pico", { ALL_PROXY: "p:1", NO_PROXY: "b.example, example" }, undefined],
    ["wss://a.example/pico", { ALL_PROXY: "p:1", NO_PROXY: ".a.example" }, undefined],
    ["wss://a.example/pico", { ALL_PROXY: "p:1", NO_PROXY: "xa.example,ample" }, "http://p:1/"],
    ["wss://a.example/pico", { ALL_PROXY: "p:1", no_proxy: "a.example:444" }, "http://p:1/"],
    ["wss://a.example:444/pico", { ALL_PROXY: "p:1", no_proxy: "a.example:444" }, undefined],
    ["wss://a.example/pico", {}, undefined],
  ])("%s with %j goes through %s", (url, env, proxy) => {
    expect(proxyFor(url, env)?.href).toBe(proxy);
  });

  test.each(["ftp://p", "http://me:p%ss@p"])(
    "fails the start and names the variable for the proxy %s",
    async (HTTP_PROXY) => {
      await expect(
        startPicoClient("ws://there/pico", { env: { HTTP_PROXY } }),
      ).rejects.toMatchObject({
        code: "PICO_CLIENT_BAD_PROXY",
        message: expect.stringContaining("HTTP_PROXY") as string,
      });
    },
  );
});
