// Tests errors and body timeouts with raw bytes.
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { http } from "../../../plugins/http/index.ts";
import { get, heldWrites, portOf, raw } from "../../support/http-client.ts";
import { expectRejection, expectSafe, read, withServer } from "./raw-requests.ts";
import { runFor } from "../../support/timers.ts";

const post = "POST /fine HTTP/1.1\r\nHost: a\r\n";
const upgrade = "HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

describe("createHttpServer errors", () => {
  test("sends the security headers with a normal response", () =>
    withServer(async (port) => expectSafe(await get(port, "/fine"))));

  test.each([
    [
      "a path with an invalid escape",
      "GET /%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      400,
    ],
    ["an unknown path", "GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["an asterisk target", "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["a missing Host header", "GET /fine HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    ["a request that is not HTTP", "hello\r\n\r\n", 400],
    ["a TLS handshake", Buffer.from([22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]), 400],
    ["HTTP/2 without negotiation", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["two lengths", `${post}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`, 400],
    [
      "a length in addition to chunks",
      `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ["a chunk without a size", `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400],
    ["an unsupported expectation", `${post}Expect: foo\r\nContent-Length: 0\r\n\r\n`, 417],
    [
      "headers over 16 KiB",
      `GET /fine HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
      431,
    ],
    ["CONNECT", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 405],
    ["an upgrade to an unknown path", `GET /x ${upgrade}`, 404],
    ["an upgrade to a bad path", `GET /%zz ${upgrade}`, 400],
  ])("rejects %s with the security headers", (_, bytes, status) =>
    withServer(async (port) => expectRejection(await raw(port, bytes), status)),
  );

  test("lets a rejected client that still sends read the response", () =>
    withServer(async (port) => {
      const head = "GET /fine HTTP/1.1\r\nHost: a\r\nX: ";
      expectRejection(await raw(port, head + "x".repeat(200_000)), 431);
    }));

  test("delivers a delayed error while the client still sends", () =>
    withServer(async (port) => {
      using line = heldWrites();
      const peer = connect(port, "127.0.0.1");
      // More than the receive buffers hold.
      const tooMuch = `GET /fine HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(4_000_000)}`;
      await new Promise<void>((done, failed) => {
        peer.once("error", failed).write(tooMuch, () => done());
      });
      line.release();
      expect(await read(peer, (text) => text.includes("}"))).toMatch(/^HTTP\/1\.1 431 /);
      peer.destroy();
    }));
});

describe("request body timeout", () => {
  const slow = "POST /fine HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nxx";

  test("sends 408 when the time of the route is over", () =>
    withKernel([http({ port: 0 })], async ({ kernel: { services }, clock }) => {
      const arrived: (() => void)[] = [];
      const next = (): Promise<void> => new Promise((done) => void arrived.push(done));
      const route = (path: string, options: object): void =>
        services.http.request(
          path,
          (request) => {
            request.resume();
            arrived.shift()?.();
          },
          options,
        );
      route("/fine", {});
      route("/long", { bodySeconds: 300 });
      const port = portOf(services.http);

      const first = next();
      const short = raw(port, slow);
      await first;
      const second = next();
      const long = raw(port, slow.replace("/fine", "/long"));
      await second;
      runFor(clock, 30_000);
      expectRejection(await short, 408);
      expect(await Promise.race([long, get(port, "/nowhere").then(() => "still open")])).toBe(
        "still open",
      );
      runFor(clock, 270_000);
      expectRejection(await long, 408);
    }));

  test("closes the connection if a response has begun", () =>
    withKernel([http({ port: 0 })], async ({ kernel: { services }, clock }) => {
      const { promise, resolve } = withResolvers();
      services.http.request("/", (request, response) => {
        request.resume();
        response.write("begun");
        resolve();
      });
      const answer = raw(portOf(services.http), slow);
      await promise;
      runFor(clock, 30_000);
      const { status, body } = await answer;
      expect([status, body.match(/HTTP/g)]).toEqual([200, null]);
    }));

  test("closes the connection after an early response", () =>
    withKernel([http({ port: 0 })], async ({ kernel: { services }, clock }) => {
      services.http.request("/", (_, response) => void response.end("early"));
      const socket = connect(portOf(services.http), "127.0.0.1");
      socket.write(slow);
      expect(await read(socket, (text) => text.endsWith("early"))).toContain("200 OK");
      const closed = once(socket, "close");
      runFor(clock, 30_000);
      await closed;
    }));

  test("never fires for a complete body", () =>
    withKernel([http({ port: 0 })], async ({ kernel: { services }, clock }) => {
      const { promise, resolve } = withResolvers();
      services.http.request(
        "/",
        (request, response) =>
          void request.resume().on("end", () => {
            response.write("begun ");
            resolve();
          }),
      );
      const socket = connect(portOf(services.http), "127.0.0.1");
      socket.write(`${slow}${"x".repeat(8)}`);
      await promise;
      runFor(clock, 400_000);
      expect(await read(socket, (text) => text.includes("begun"))).toContain("200 OK");
      socket.destroy();
    }));
});

describe("early response", () => {
  const part = "x".repeat(100_000);
  const head = `HTTP/1.1\r\nHost: a\r\nContent-Length: ${3 * part.length}\r\n\r\n`;

  /** Sends the whole body, then reads. Repeats if this took longer than the linger time of 1 s. */
  async function sendThenRead(port: number, path: string, behind: string): Promise<string> {
    const began = performance.now();
    const socket = connect(port, "127.0.0.1").setEncoding("latin1").pause();
    let text = "";
    socket.on("data", (chunk: string) => void (text += chunk)).on("error", () => undefined);
    const closed = new Promise((done) => socket.once("close", done));
    socket.write(`POST ${path} ${head}`);
    for (const chunk of [part, part, part + behind]) {
      socket.write(chunk);
      await get(port, "/fine"); // the server has processed the chunk
    }
    socket.resume();
    await closed;
    return performance.now() - began < 900 ? text : sendThenRead(port, path, behind);
  }

  test.each([
    ["a route", "/early", "413 Payload Too Large"],
    ["the 404 page", "/nowhere", "404 Not Found"],
  ])("reaches a client that is still sending (%s)", (_, path, status) =>
    withServer(async (port, service) => {
      let isServed = false;
      service.request("/next", () => {
        isServed = true;
      });
      service.request("/early", (_, response) => {
        response.writeHead(413, { Connection: "close" }).end("too large");
      });
      const text = await sendThenRead(
        port,
        path,
        `POST /next HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`,
      );
      expect(text).toContain(`HTTP/1.1 ${status}\r\n`);
      expect([text.match(/HTTP/g)?.length, isServed]).toEqual([1, false]);
    }),
  );
});

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  return { promise: new Promise<void>((done) => void (resolve = done)), resolve };
}
