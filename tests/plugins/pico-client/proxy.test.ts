import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { execFile } from "node:child_process";
import { createServer as createHttpServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { createServer, type AddressInfo } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { proxyFor } from "../../../plugins/pico-client/proxy.ts";
import { selfSigned } from "../http/certificate.ts";
import { findTool } from "../../support/tools.ts";
import { createProxy } from "./tunnel.ts";
import { startRemote, startPicoClient } from "../../support/pico-client-harness.ts";

const curl = findTool("curl");
/** Addresses of this machine that a URL can contain. */
const machineHosts = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .filter(({ scopeid = 0 }) => scopeid === 0)
  .map(({ address, family }) => (family === "IPv6" ? `[${address}]` : address));

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

/** The same port under a name that is not of this machine; the test proxy ignores names. */
const elsewhere = (url: string): string => url.replace(/127\.0\.0\.1|localhost/, "there.example");

describe("picoClient with a proxy", () => {
  test("connects to this machine without the proxy", async () => {
    await using proxy = await createProxy(502);
    await using there = await startRemote();
    const { port } = new URL(there.url);
    for (const host of ["127.0.0.1", "localhost"]) {
      await using here = await startPicoClient(`ws://${host}:${port}/pico`, {
        env: { HTTP_PROXY: proxy.address, ALL_PROXY: proxy.address },
      });
      await here.until(here.changes, ({ to }) => to === "open");
    }
    expect(proxy.asked).toEqual([]);
  });

  test("connects through the proxy of the environment with its credentials", async () => {
    await using proxy = await createProxy();
    await using there = await startRemote();
    await using here = await startPicoClient(elsewhere(there.url), {
      env: { http_proxy: `http://me:p%40ss@${proxy.address}` },
    });
    await expect(here.link.send({ content: "x" })).resolves.toMatchObject({ status: "delivered" });
    expect(here.lines.map(({ text }) => text).join()).toContain("unencrypted; use a wss:");
    expect(proxy.asked).toEqual([
      {
        target: new URL(elsewhere(there.url)).host,
        authorization: `Basic ${Buffer.from("me:p@ss").toString("base64")}`,
      },
    ]);
  });

  test("reads the history and files through the proxy", async () => {
    await using proxy = await createProxy();
    await using there = await startRemote();
    const url = elsewhere(there.url);
    await using here = await startPicoClient(url, { env: { http_proxy: proxy.address } });
    await here.until(here.changes, ({ to }) => to === "open");
    await expect(here.link.history()).resolves.toEqual({ items: [] });
    const file = { url: `${url.replace("ws:", "http:")}/nothing` };
    await expect(here.link.fetchMedia(file)).rejects.toMatchObject({ code: "media_unavailable" });
    const { host } = new URL(url);
    expect(proxy.asked.map(({ target }) => target)).toEqual([host, host, host]);
  });

  test("reports and retries a proxy that rejects the tunnel", async () => {
    await using proxy = await createProxy(407);
    await using there = await startRemote();
    await using here = await startPicoClient(elsewhere(there.url), {
      env: { ALL_PROXY: proxy.address },
    });
    await here.until(
      here.changes,
      ({ to, reason }) => to === "waiting" && reason === "proxy_refused",
    );
  });

  test("says that the server has no TLS, and what to write", async () => {
    await using there = await startRemote();
    await using here = await startPicoClient(there.url.replace("ws:", "wss:"));
    await here.until(here.changes, ({ to, reason }) => to === "waiting" && reason === "no_tls");
    const warning = here.lines.find(({ level }) => level === "warn");
    expect(warning?.text).toMatch(
      /no_tls.*Write ws:\/\/ instead of wss:\/\/.*channels\.pico_client\.url/,
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
    await using here = await startPicoClient("wss://there.example:1/pico", {
      env: { HTTPS_PROXY },
    });
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
    const at = (host: string): string => secure.url.replace("localhost", host);
    for (const [url, given] of [
      [secure.url, {}],
      [at("there.example"), env],
      [at("127.0.0.1"), {}],
      [at("198.51.100.1"), env],
    ] as const) {
      await using here = await startPicoClient(url, { config: { ca_file: ca }, env: given });
      await here.until(here.changes, ({ to }) => to === "open");
      await expect(here.link.send({ content: "x" })).resolves.toMatchObject({ status: "written" });
    }
    for (const host of ["198.51.100.2", "elsewhere.example"]) {
      await using here = await startPicoClient(at(host), {
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

  test.each([
    "localhost",
    "LOCALHOST.",
    "door.localhost",
    "127.0.0.1",
    "127.255.0.9",
    "127.1",
    "0x7f000001",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
    "[::]",
    ...machineHosts,
  ])("reaches this machine without a proxy: %s", (host) => {
    for (const env of [{ HTTP_PROXY: "p:1" }, { http_proxy: "p:1" }, { ALL_PROXY: "p:1" }])
      expect(proxyFor(`ws://${host}:18800/pico`, env)).toBeUndefined();
    expect(proxyFor(`https://${host}/pico`, { HTTPS_PROXY: "p:1" })).toBeUndefined();
  });

  test.each(["localhost.example", "notlocalhost", "128.0.0.1", "[::2]", "[::ffff:8.8.8.8]"])(
    "reaches other machines through the proxy: %s",
    (host) => {
      expect(proxyFor(`ws://${host}/pico`, { ALL_PROXY: "p:1" })?.host).toBe("p:1");
    },
  );

  test.each([
    ["a.example", "A.EXAMPLE", true],
    ["a.example", " , ,a.example,", true],
    ["a.example", "b.example a.example", true],
    ["a.example", "a.example.", true],
    ["a.example.", "a.example", true],
    ["b.a.example", ".a.example", true],
    ["b.a.example", "a.example", true],
    ["ba.example", "a.example", false],
    ["a.example", "b.a.example", false],
    ["a.example", ".", false],
    ["a.example", "b.example,*", false],
    ["a.example", " * ", true],
    ["a.example", "*.example", true],
    ["a.example", "a.example:80", true],
    ["a.example", "a.example:81", false],
    ["10.1.2.3", "10.1.2.3", true],
    ["10.1.2.3", "1.2.3", false],
    ["10.1.2.3", ".10.1.2.3", false],
    ["10.1.2.3", "10.0.0.0/8", true],
    ["10.1.2.3", "10.1.2.3/32", true],
    ["10.1.2.3", "10.1.2.2/31", true],
    ["11.1.2.3", "10.0.0.0/8", false],
    ["10.1.2.3", "10.0.0.0/33", false],
    ["10.1.2.3", "10.0.0.0/x", false],
    ["10.1.2.3", "10.0.0.0/8/8", false],
    ["10.1.2.3", "10.1.2.3:80", true],
    ["10.1.2.3", "10.1.2.3:81", false],
    ["a.example", "10.0.0.0/8", false],
    ["[fd00::1]", "fd00::1", true],
    ["[fd00::1]", "[fd00::1]", true],
    ["[fd00::1]", "fd00:0:0::1", true],
    ["[fd00::1]", "[fd00::1]:80", true],
    ["[fd00::1]", "[fd00::1]:81", false],
    ["[fd00::1]", "fd00::/8", true],
    ["[fd12::1]", "fd00::/10", true],
    ["[fd40::1]", "fd00::/10", false],
    ["[fd00::1]", "fd00::/129", false],
    ["[fd00::1]", "10.0.0.0/8", false],
    ["10.1.2.3", "::/0", false],
  ])("NO_PROXY for %s with %j: %s", (host, list, isDirect) => {
    for (const name of ["NO_PROXY", "no_proxy"])
      expect(proxyFor(`ws://${host}/pico`, { http_proxy: "p:1", [name]: list })?.host).toBe(
        isDirect ? undefined : "p:1",
      );
  });

  test.skipIf(!curl)("reads NO_PROXY like the installed curl", async () => {
    // The proxy answers every request itself. Bound to loopback, curl reaches no other machine.
    const hosts = ["a.example", "b.a.example", "ba.example", "10.1.2.3", "11.1.2.3", "[fd00::1]"];
    const lists = ["a.example", ".a.example", "x,a.example.", "10.0.0.0/8", "10.1.2.3/32", "1.2.3"];
    const server = createHttpServer((_, response) => response.end("proxied"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const http_proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const isProxied = async (host: string, no_proxy: string): Promise<boolean> => {
      const resolve = host.endsWith("example") ? ["--resolve", `${host}:80:127.0.0.1`] : [];
      const words = ["-s", "--interface", "127.0.0.1", ...resolve, `http://${host}/`];
      const { stdout } = await promisify(execFile)(curl!, words, {
        env: { http_proxy, no_proxy },
      }).catch(() => ({ stdout: "" }));
      return stdout === "proxied";
    };
    for (const list of [...lists, "*", "fd00::1", "a.example,*"])
      for (const host of hosts) {
        const ours = proxyFor(`ws://${host}/pico`, { http_proxy, no_proxy: list }) !== undefined;
        expect([host, list, ours]).toEqual([host, list, await isProxied(host, list)]);
      }
    server.close();
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
