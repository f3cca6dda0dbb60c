// Tests WebSocket upgrades, and other upgrades that are served as plain requests.
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { get, parseAnswer, raw } from "../../support/http-client.ts";
import { expectRejection, expectSafe, read, withServer } from "./raw-requests.ts";

describe("serveAsPlain", () => {
  const h2c = [
    "Host: a",
    "User-Agent: Java-http-client/21",
    "Connection: Upgrade, HTTP2-Settings",
    "Upgrade: h2c",
    "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk",
  ];

  test("serves an h2c upgrade as a plain request", () =>
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
      expect(answer.body).not.toContain("HTTP/1.1"); // the next request is discarded
    }));

  test("reads a body in one or two chunks", () =>
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

  test("closes only its connection if an earlier response is pending", () =>
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

  test("keeps Connection: close", () =>
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

describe("Http.upgrade", () => {
  const upgradeRequest = (path: string, ...lines: string[]): string =>
    [
      `GET ${path} HTTP/1.1`,
      "Host: a",
      "Connection: Upgrade",
      "Upgrade: WebSocket",
      ...lines,
      "",
      "rest",
    ].join("\r\n");

  test("calls the route of exactly its path with further bytes", () =>
    withServer(async (port, service) => {
      service.upgrade("/pico", (request, socket, head) => {
        let rest = head.toString();
        const check = (): void =>
          void (rest === "rest" && socket.end(`HTTP/1.1 101 Fine\r\n\r\n${request.url} ${rest}`));
        socket.on("data", (chunk: Buffer) => {
          rest += chunk.toString();
          check();
        });
        check();
      });
      expect((await raw(port, upgradeRequest("//x/../pico?a=b"))).body).toBe("/pico?a=b rest");
      expectRejection(await raw(port, upgradeRequest("/pico/")), 404);
    }));

  test("rejects with security headers, extra headers and a JSON body", () =>
    withServer(async (port, service) => {
      const body = { error: "invalid_token", message: "No." };
      const headers = { "WWW-Authenticate": 'Bearer realm="pico"', "X-Split": "a\r\nb: c" };
      service.upgrade("/pico", (_, socket) => service.rejectUpgrade(socket, 401, body, headers));
      const answer = await raw(port, upgradeRequest("/pico"));
      expectRejection(answer, 401);
      expect(JSON.parse(answer.body)).toEqual(body);
      const expected = {
        "www-authenticate": 'Bearer realm="pico"',
        "x-split": "a  b: c",
        connection: "close",
      };
      expect(answer.headers).toMatchObject(expected);
    }));

  test("rejects two Authorization lines before the route", () =>
    withServer(async (port, service) => {
      let seen = false;
      service.upgrade("/pico", (_, socket) => {
        seen = true;
        socket.destroy();
      });
      expectRejection(
        await raw(
          port,
          upgradeRequest("/pico", "Authorization: Bearer a", "Authorization: Bearer b"),
        ),
        400,
      );
      expect(seen).toBe(false);
    }));

  test("closes only the connection if the handler throws", () =>
    withServer(async (port, service) => {
      service.upgrade("/pico", () => {
        throw new Error("no");
      });
      expect((await raw(port, upgradeRequest("/pico"))).status).toBe(NaN);
      expect((await get(port, "/fine")).status).toBe(200);
    }));
});
