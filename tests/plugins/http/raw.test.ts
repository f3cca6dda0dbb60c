import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { http, type Http } from "../../../plugins/http/index.ts";
import {
  get,
  heldWrites,
  parseAnswer,
  portOf,
  raw,
  safety,
  type RawAnswer,
} from "../../support/http-client.ts";

function expectSafe(answer: RawAnswer): void {
  expect(answer.headers).toMatchObject(safety);
  expect(answer.headers["server"]).toBeUndefined();
  expect(answer.headers["x-powered-by"]).toBeUndefined();
}

function expectRefusal(answer: RawAnswer, status: number): void {
  expect(answer.status).toBe(status);
  expectSafe(answer);
  expect(answer.headers["cache-control"]).toBe("no-store");
  const body = { error: expect.stringMatching(/^[a-z_]+$/), message: expect.stringMatching(/\.$/) };
  expect(JSON.parse(answer.body)).toEqual(body);
}

const withServer = (visit: (port: number, http: Http) => Promise<void>): Promise<void> =>
  withKernel([http({ port: 0 })], async ({ kernel: { services } }) => {
    services.http.request("/fine", (request, response) => {
      request
        .resume()
        .on("end", () =>
          response.end(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`),
        );
    });
    await visit(portOf(services.http), services.http);
  });

const post = "POST /fine HTTP/1.1\r\nHost: a\r\n";
const upgrade = "HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

describe("what Node answers by itself carries our headers", () => {
  test("an ordinary answer", () =>
    withServer(async (port) => expectSafe(await get(port, "/fine"))));

  test.each([
    ["a path with a bad escape", "GET /%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 400],
    ["an unknown path", "GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    [
      "the whole server as target",
      "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      404,
    ],
    ["no Host", "GET /fine HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    ["a request that is not HTTP", "hello\r\n\r\n", 400],
    ["a TLS greeting", Buffer.from([22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]), 400],
    ["HTTP/2 without asking", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["two lengths", `${post}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`, 400],
    [
      "a length beside chunks",
      `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ["a chunk without a size", `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400],
    ["an expectation that cannot be met", `${post}Expect: foo\r\nContent-Length: 0\r\n\r\n`, 417],
    [
      "headers over 16 KiB",
      `GET /fine HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
      431,
    ],
    ["CONNECT", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 405],
    ["an upgrade to an unknown path", `GET /x ${upgrade}`, 404],
    ["an upgrade to a bad path", `GET /%zz ${upgrade}`, 400],
  ])("%s", (_, bytes, status) =>
    withServer(async (port) => expectRefusal(await raw(port, bytes), status)),
  );

  test("a refused peer that goes on sending still reads the answer", () =>
    withServer(async (port) => {
      const head = "GET /fine HTTP/1.1\r\nHost: a\r\nX: ";
      expectRefusal(await raw(port, head + "x".repeat(200_000)), 431);
    }));

  test("a refusal that leaves late is not torn away by what goes on coming", () =>
    withServer(async (port) => {
      using line = heldWrites();
      const peer = connect(port, "127.0.0.1");
      const tooMuch = `GET /fine HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(4_000_000)}`; // more than may wait unread
      await new Promise<void>((done, failed) => {
        peer.once("error", failed).write(tooMuch, () => done());
      });
      line.release();
      expect(await read(peer, (text) => text.includes("}"))).toMatch(/^HTTP\/1\.1 431 /);
      peer.destroy();
    }));
});

/** Reads from a socket until `enough` says so. */
function read(socket: Socket, enough: (text: string) => boolean): Promise<string> {
  return new Promise((done) => {
    let text = "";
    const take = (piece: Buffer): void => {
      text += piece.toString("latin1");
      if (!enough(text)) return;
      socket.off("data", take);
      done(text);
    };
    socket.on("data", take);
  });
}

describe("a body that does not arrive", () => {
  const slow = "POST /fine HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nxx";

  test("is answered 408 when the time of its route is over, and not before", () =>
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
      clock.increment(29_999);
      clock.increment(1);
      expectRefusal(await short, 408);
      expect(await Promise.race([long, get(port, "/nowhere").then(() => "still open")])).toBe(
        "still open",
      );
      clock.increment(270_000);
      expectRefusal(await long, 408);
    }));

  test("ends the connection without a second answer when one has begun", () =>
    withKernel([http({ port: 0 })], async ({ kernel: { services }, clock }) => {
      const { promise, resolve } = withResolvers();
      services.http.request("/", (request, response) => {
        request.resume();
        response.write("begun");
        resolve();
      });
      const answer = raw(portOf(services.http), slow);
      await promise;
      clock.increment(30_000);
      const { status, body } = await answer;
      expect([status, body.match(/HTTP/g)]).toEqual([200, null]);
    }));

  test("is not waited for longer because the answer is out", () =>
    withKernel([http({ port: 0 })], async ({ kernel: { services }, clock }) => {
      services.http.request("/", (_, response) => void response.end("early"));
      const socket = connect(portOf(services.http), "127.0.0.1");
      socket.write(slow);
      expect(await read(socket, (text) => text.endsWith("early"))).toContain("200 OK");
      const closed = once(socket, "close");
      clock.increment(30_000);
      await closed;
    }));

  test("nothing fires for a body that arrived", () =>
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
      clock.increment(400_000);
      expect(await read(socket, (text) => text.includes("begun"))).toContain("200 OK");
      socket.destroy();
    }));
});

describe("a peer that is answered while it sends its body", () => {
  const part = "x".repeat(100_000);
  const head = `HTTP/1.1\r\nHost: a\r\nContent-Length: ${3 * part.length}\r\n\r\n`;

  /** Reads nothing before all of its body has left. Whoever is held up meanwhile tries again: there is a second. */
  async function sends(port: number, path: string, behind: string): Promise<string> {
    const began = performance.now();
    const socket = connect(port, "127.0.0.1").setEncoding("latin1").pause();
    let text = "";
    socket.on("data", (chunk: string) => void (text += chunk)).on("error", () => undefined);
    const closed = new Promise((done) => socket.once("close", done));
    socket.write(`POST ${path} ${head}`);
    for (const each of [part, part, part + behind]) {
      socket.write(each);
      await get(port, "/fine"); // what the server makes of it has happened meanwhile
    }
    socket.resume();
    await closed;
    return performance.now() - began < 900 ? text : sends(port, path, behind);
  }

  test.each([
    ["by its route", "/early", "413 Payload Too Large"],
    ["by nobody", "/nowhere", "404 Not Found"],
  ])("%s reads the answer when it is done", (_, path, status) =>
    withServer(async (port, service) => {
      let isServed = false;
      service.request("/next", () => {
        isServed = true;
      });
      service.request("/early", (_, response) => {
        response.writeHead(413, { Connection: "close" }).end("too large");
      });
      const text = await sends(
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

describe("an upgrade to another protocol than websocket", () => {
  const h2c = [
    "Host: a",
    "User-Agent: Java-http-client/21",
    "Connection: Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk",
  ];

  test("is served as the plain request it is", () =>
    withServer(async (port) => {
      const next = ["GET /fine HTTP/1.1", "Host: a", "Connection: close"];
      const answer = await raw(
        port,
        ["GET /fine?a=b HTTP/1.1", ...h2c, "", ...next, "", ""].join("\r\n"),
      );
      expect(answer.status).toBe(200);
      expectSafe(answer);
      expect(answer.body).toContain("GET /fine?a=b");
      expect(answer.body).toContain("Java-http-client/21");
      expect(answer.body).not.toMatch(/h2c|http2-settings|upgrade/i);
      expect(answer.body).not.toContain("HTTP/1.1"); // the request behind it is discarded
    }));

  test("brings its body along, in one piece or in two", () =>
    withServer(async (port) => {
      const socket = connect(port, "127.0.0.1");
      socket.write(["POST /fine HTTP/1.1", ...h2c, "Content-Length: 10", "", "01234"].join("\r\n"));
      await once(socket, "connect");
      socket.write("56789");
      expect(parseAnswer(await read(socket, (text) => text.includes("}"))).body).toContain(
        "POST /fine",
      );
      socket.destroy();
    }));

  test("with a body, behind an answer that is not there yet, ends nothing but its connection", () =>
    withServer(async (port, service) => {
      service.request("/later", () => undefined);
      const socket = connect(port, "127.0.0.1").on("error", () => undefined);
      const upgrade = ["POST /fine HTTP/1.1", ...h2c, "Content-Length: 10", "", "0123456789"].join(
        "\r\n",
      );
      socket.write(`GET /later HTTP/1.1\r\nHost: a\r\n\r\n${upgrade}`);
      expect((await get(port, "/fine")).status).toBe(200);
      socket.destroy();
    }));

  test("keeps a wish to close", () =>
    withServer(async (port) => {
      const lines = [
        "GET /fine HTTP/1.1",
        "Host: a",
        "Connection: upgrade, close",
        "Upgrade: TLS/1.0",
        "",
        "",
      ];
      const answer = await raw(port, lines.join("\r\n"));
      expect([answer.status, answer.headers["connection"]]).toEqual([200, "close"]);
    }));
});

describe("a websocket upgrade", () => {
  const ask = (path: string, ...lines: string[]): string =>
    [
      `GET ${path} HTTP/1.1`,
      "Host: a",
      "Connection: Upgrade",
      "Upgrade: WebSocket",
      ...lines,
      "",
      "rest",
    ].join("\r\n");

  test("reaches the route of exactly its path, with what came after it", () =>
    withServer(async (port, service) => {
      service.upgrade("/pico", (request, socket, head) => {
        let rest = head.toString();
        const look = (): void =>
          void (rest === "rest" && socket.end(`HTTP/1.1 101 Fine\r\n\r\n${request.url} ${rest}`));
        socket.on("data", (chunk: Buffer) => {
          rest += chunk.toString();
          look();
        });
        look();
      });
      expect((await raw(port, ask("//x/../pico?a=b"))).body).toBe("/pico?a=b rest");
      expectRefusal(await raw(port, ask("/pico/")), 404);
    }));

  test("is refused with the safety headers, extra headers and one JSON body", () =>
    withServer(async (port, service) => {
      const body = { error: "invalid_token", message: "No." };
      const headers = { "WWW-Authenticate": 'Bearer realm="pico"', "X-Split": "a\r\nb: c" };
      service.upgrade("/pico", (_, socket) => service.rejectUpgrade(socket, 401, body, headers));
      const answer = await raw(port, ask("/pico"));
      expectRefusal(answer, 401);
      expect(JSON.parse(answer.body)).toEqual(body);
      const expected = {
        "www-authenticate": 'Bearer realm="pico"',
        "x-split": "a  b: c",
        connection: "close",
      };
      expect(answer.headers).toMatchObject(expected);
    }));

  test("with two Authorization lines is refused before its route sees it", () =>
    withServer(async (port, service) => {
      let seen = false;
      service.upgrade("/pico", (_, socket) => {
        seen = true;
        socket.destroy();
      });
      expectRefusal(
        await raw(port, ask("/pico", "Authorization: Bearer a", "Authorization: Bearer b")),
        400,
      );
      expect(seen).toBe(false);
    }));

  test("whose handler throws ends the connection and nothing else", () =>
    withServer(async (port, service) => {
      service.upgrade("/pico", () => {
        throw new Error("no");
      });
      expect((await raw(port, ask("/pico"))).status).toBe(NaN);
      expect((await get(port, "/fine")).status).toBe(200);
    }));
});
