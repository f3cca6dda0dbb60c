import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cookieFrom, isSignedIn, rejection, signIn, TOKEN } from "../support/dashboard-server.ts";
import {
  PICO_TOKEN,
  request,
  startLauncherServer,
  type LauncherServer,
} from "../support/launcher-server.ts";

let testServer: LauncherServer;

let warnings: Error[];

const warn = (warning: Error): void => void warnings.push(warning);

beforeAll(async () => {
  testServer = await startLauncherServer();
  warnings = [];
  process.on("warning", warn);
});

afterAll(async () => {
  process.off("warning", warn);
  await testServer[Symbol.asyncDispose]();
});

const bearer = `Authorization: Bearer ${TOKEN}`;

/** A request hidden behind another one. A response to it would reveal smuggling. */
const hidden = `GET /api/status HTTP/1.1\r\nHost: localhost\r\n${bearer}\r\n\r\n`;

const post = (lines: string, body: string): string =>
  `POST /login HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n\r\n${body}`;

describe("ambiguous request", () => {
  test.each([
    [
      "a length and chunks",
      post("Content-Length: 6\r\nTransfer-Encoding: chunked", `0\r\n\r\n${hidden}`),
    ],
    [
      "chunks and a length",
      post("Transfer-Encoding: chunked\r\nContent-Length: 6", `0\r\n\r\n${hidden}`),
    ],
    ["two lengths", post("Content-Length: 0\r\nContent-Length: 9", hidden)],
    ["the same length twice", post("Content-Length: 0\r\nContent-Length: 0", hidden)],
    ["a list of lengths", post("Content-Length: 0, 9", hidden)],
    ["a length with a sign", post("Content-Length: +0", hidden)],
    ["a negative length", post("Content-Length: -1", hidden)],
    ["a length in hex", post("Content-Length: 0x10", hidden)],
    ["a length past 64 bits", post("Content-Length: 18446744073709551616", hidden)],
    ["an empty length", post("Content-Length: ", hidden)],
    [
      "chunks that are not the last coding",
      post("Transfer-Encoding: chunked, identity", `0\r\n\r\n${hidden}`),
    ],
    ["an unknown coding", post("Transfer-Encoding: xchunked", `0\r\n\r\n${hidden}`)],
    [
      "chunks named twice",
      post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", `0\r\n\r\n${hidden}`),
    ],
    [
      "a coding behind a vertical tab",
      post("Transfer-Encoding: \x0bchunked", `0\r\n\r\n${hidden}`),
    ],
    ["a space before the colon", post("Transfer-Encoding : chunked", `0\r\n\r\n${hidden}`)],
    ["a folded header", post("Transfer-Encoding:\r\n chunked", `0\r\n\r\n${hidden}`)],
    [
      "a header that begins with a space",
      `POST /login HTTP/1.1\r\n Host: localhost\r\n\r\n${hidden}`,
    ],
    ["line ends without CR", hidden.replaceAll("\r\n", "\n")],
    ["one line end without CR", hidden.replace("localhost\r\n", "localhost\n")],
    ["a CR inside of a value", hidden.replace("localhost", "localhost\rX: y")],
    ["a NUL inside of a value", hidden.replace("localhost", "local\0host")],
    ["a NUL inside of a name", hidden.replace("Host:", "Ho\0st:")],
    ["a header without a colon", hidden.replace("Host:", "Host\r\nHost:")],
    ["a chunk size with a sign", post("Transfer-Encoding: chunked", `+0\r\n\r\n${hidden}`)],
    [
      "a chunk size in another spelling",
      post("Transfer-Encoding: chunked", `0x0\r\n\r\n${hidden}`),
    ],
    [
      "a chunk size past 64 bits",
      post("Transfer-Encoding: chunked", `ffffffffffffffff1\r\n\r\n${hidden}`),
    ],
    ["a chunk size that ends without CR", post("Transfer-Encoding: chunked", `0\n\n${hidden}`)],
    [
      "a chunk longer than it says",
      post("Transfer-Encoding: chunked", `1\r\nxx\r\n0\r\n\r\n${hidden}`),
    ],
    ["a tab before the target", hidden.replace("GET ", "GET\t")],
    ["a space in the target", hidden.replace("/api/status", "/api/status x")],
    ["another version", hidden.replace("HTTP/1.1", "HTTP/9.9")],
    ["no version", "GET /api/status\r\n\r\n"],
    ["a method in lower case", hidden.replace("GET", "get")],
    ["an unknown method", hidden.replace("GET", "SMUGGLE")],
    ["two Host lines", hidden.replace("Host:", "Host: evil.example\r\nHost:")],
    ["no Host", hidden.replace("Host: localhost\r\n", "")],
    ["two Authorization lines", hidden.replace(bearer, `${bearer}\r\n${bearer}`)],
    [
      "two Host lines with more headers between them than Node counts",
      hidden.replace(
        "Host: localhost",
        `Host: localhost\r\n${"a:\r\n".repeat(2_500)}Host: evil.example`,
      ),
    ],
  ])("%s", async (_, bytes) => {
    const answer = await testServer.attack(bytes);
    expect(answer.status).toBe(400);
    expect(answer.body).not.toContain("HTTP/1.1");
    expect(answer.body).not.toContain("running");
  });
});

describe("upgrade to another protocol", () => {
  const h2c = (target: string, lines = "", body = ""): string =>
    `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n` +
    `HTTP2-Settings: AAMAAABkAAQAAP__\r\n${lines}\r\n${body}`;

  test("grants no more access than the plain request", async () => {
    expect((await testServer.attack(h2c("/api/status"))).status).toBe(401);
    expect((await testServer.attack(h2c("/api/status", `${bearer}\r\n`))).status).toBe(200);
    expect((await testServer.attack(h2c("/pico"))).status).toBe(401);
    expect(
      (
        await testServer.attack(
          h2c("/api/status", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"),
        )
      ).status,
    ).toBe(400);
  });

  test("gets one response per connection", async () => {
    for (let n = 0; n < 20; n += 1) {
      const answer = await testServer.attack(h2c("/healthz").replace(", close", "").repeat(500));
      expect([answer.status, answer.headers["connection"]]).toEqual([200, "close"]);
      expect(answer.body).not.toContain("HTTP/1.1");
    }
    expect(warnings).toEqual([]);
  });
});

describe("oversized request", () => {
  const json = { "content-type": "application/json" };

  test.each([
    ["a target", request(`GET /${"a".repeat(100_000)}`), 431],
    ["a header", request("GET /login", ["Host: localhost", `X-Big: ${"a".repeat(100_000)}`]), 431],
    [
      "many headers",
      request("GET /login", ["Host: localhost", ...Array<string>(5_000).fill("X-N: 1")]),
      431,
    ],
    ["a chunk extension", post("Transfer-Encoding: chunked", `1;${"a".repeat(100_000)}\r\n`), 413],
  ])("%s", async (_, bytes, status) => {
    expect((await testServer.attack(bytes)).status).toBe(status);
  });

  test("rejects large bodies, with a length or chunked", async () => {
    const me = await signIn(testServer);
    for (const path of ["/login", "/setup", "/logout"]) {
      await rejection(
        await testServer.post(path, { token: "x".repeat(5_000) }, me),
        413,
        "body_too_large",
      );
    }
    await rejection(
      await testServer.post("/api/signin-links", { a: "x".repeat(1_048_577) }, me),
      413,
      "body_too_large",
    );
    const chunked = await testServer.attack(
      post(
        "Content-Type: application/json\r\nTransfer-Encoding: chunked",
        `2000\r\n${"x".repeat(8_192)}\r\n0\r\n\r\n`,
      ),
    );
    expect(chunked.status).toBe(413);
    const posted = {
      authorization: `Bearer ${PICO_TOKEN}`,
      ...json,
      "content-length": String(2 ** 31),
    };
    const answer = await testServer.request("/pico/messages", {
      method: "POST",
      headers: posted,
      body: "",
    });
    expect(answer.status).toBe(413);
  });

  test("checks deep, long and escaped bodies like any other", async () => {
    const me = { ...(await signIn(testServer)), ...json, "if-match": "x" };
    const bodies = [
      `{"session_days":${"[".repeat(250_000)}${"]".repeat(250_000)}}`,
      `{"session_days":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}}`,
      `{"session_days":"${"\\u0061".repeat(170_000)}"}`,
      `{"session_days":"${"\\\\".repeat(500_000)}"}`,
      `{${Array.from({ length: 60_000 }, (_, at) => `"k${at}":1`).join()}}`,
    ];
    for (const body of bodies) {
      const { status } = await testServer.request("/api/launcher", {
        method: "PUT",
        headers: me,
        body,
      });
      expect([400, 412, 422]).toContain(status);
    }
  });

  test("ignores thousands of cookies and parameters", async () => {
    const me = await signIn(testServer);
    const name = me.cookie.split("=")[0]!;
    const planted = Array<string>(200).fill(`${name}=x.y`).join("; ");
    expect(await isSignedIn(testServer, { cookie: `${planted}; ${me.cookie}` })).toBe(true);
    expect(await isSignedIn(testServer, { cookie: planted })).toBe(false);
    const parameters = Array.from({ length: 1_500 }, (_, at) => `p${at}=1`).join("&");
    expect((await testServer.get(`/api/log?${parameters}`, me)).status).toBe(404);
    const agent = { ...me, "user-agent": "x".repeat(10_000) };
    const long = cookieFrom(await testServer.post("/login", { token: TOKEN }, agent));
    const list = (await (await testServer.get("/api/sessions", { cookie: long })).json()) as {
      sessions: { userAgent: string }[];
    };
    expect(Math.max(...list.sessions.map(({ userAgent }) => userAgent.length))).toBeLessThanOrEqual(
      300,
    );
  });
});
