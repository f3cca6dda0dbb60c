import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  block,
  cookieFrom,
  isSignedIn,
  rejection,
  setCookieOf,
  signIn,
  TOKEN,
  wrongToken,
} from "../support/dashboard-server.ts";
import {
  PICO_TOKEN,
  request,
  startLauncherServer,
  type LauncherServer,
} from "../support/launcher-server.ts";

let testServer: LauncherServer;

beforeAll(async () => {
  testServer = await startLauncherServer();
});

afterAll(async () => {
  await testServer[Symbol.asyncDispose]();
});

describe("Host header", () => {
  test.each([
    "evil.example",
    "evil.example:80",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "localhost-evil.example",
    "evillocalhost",
    "0x7f.1",
    "127.1",
    "2130706433",
    "[::1]evil.example",
    "[::1].evil.example",
    "[evil.example]",
    "localhost:80:80",
    "localhost:80evil",
    "xn--lcalhost-54a",
    "localhost:65536",
    "[::1]:99999",
  ])("leads to a rejection for a foreign name: %s", async (host) => {
    const answer = await testServer.attack(request("GET /api/auth/status", [`Host: ${host}`]));
    expect([400, 403]).toContain(answer.status);
  });

  test.each([
    "local host",
    "localhost@evil.example",
    "evil.example#localhost",
    "evil.example/localhost",
    "",
    "a,localhost",
    "%6c",
  ])("leads to a rejection if malformed: %j", async (host) => {
    expect(
      (await testServer.attack(request("GET /api/auth/status", [`Host: ${host}`]))).status,
    ).toBe(400);
  });

  test("yields to the host of the request target", async () => {
    const get = (target: string, host: string) =>
      testServer.attack(request(`GET ${target}`, [`Host: ${host}`]));
    expect((await get("http://evil.example/api/auth/status", "localhost")).status).toBe(403);
    expect((await get("http://localhost/api/auth/status", "evil.example")).status).toBe(200);
    for (const target of [
      "http://localhost@evil.example/",
      "http://a:b@localhost/",
      "ftp://localhost/",
      "localhost:80",
      "http:///api/auth/status",
      "http:/api/auth/status",
      "javascript:alert(1)",
    ]) {
      expect((await get(target, "localhost")).status).toBe(400);
    }
  });
});

describe("forged forwarded headers", () => {
  const forged = (n: number) => ({
    "x-forwarded-for": `198.51.100.${n}`,
    forwarded: `for=198.51.100.${n};proto=https`,
  });

  test("allow no additional sign-in attempts", async () => {
    await using own = await startLauncherServer();
    const statuses: number[] = [];
    for (let n = 0; n < 12; n += 1)
      statuses.push((await own.post("/login", { token: wrongToken(n) }, forged(n))).status);
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
  });

  test("change no cookie, allowed host or link", async () => {
    const lies = {
      "x-forwarded-proto": "https",
      "x-forwarded-host": "evil.example",
      "x-forwarded-port": "443",
    };
    const answer = await testServer.post("/login", { token: TOKEN }, lies);
    expect(setCookieOf(answer)).not.toMatch(/Secure|__Host-/);
    const cookie = cookieFrom(answer);
    const link = await testServer.post("/api/signin-links", {}, { cookie, ...lies });
    expect(await link.text()).not.toContain("evil.example");
    const refused = await testServer.get("/api/auth/status", {
      host: "evil.example",
      "x-forwarded-host": "localhost",
    });
    await rejection(refused, 403, "host_not_allowed");
  });

  test("count only up to the address the trusted proxy saw", async () => {
    await using own = await startLauncherServer({ trusted_proxies: ["127.0.0.1"] });
    const seen: number[] = [];
    for (let n = 0; n < 12; n += 1) {
      const headers = { "x-forwarded-for": `198.51.100.${n}, 203.0.113.9` };
      seen.push((await own.post("/login", { token: wrongToken(n) }, headers)).status);
    }
    expect(seen.at(-1)).toBe(429);
    expect(
      (await own.post("/login", { token: TOKEN }, { "x-forwarded-for": "203.0.113.10" })).status,
    ).toBe(200);
  });
});

describe("contradicting headers or fields", () => {
  test("lead to a rejection", async () => {
    const me = await signIn(testServer);
    const changing = (headers: Record<string, string | string[]>) =>
      testServer.post("/api/signin-links", {}, { ...me, ...headers });
    for (const headers of [
      { "sec-fetch-site": ["same-origin", "cross-site"] },
      { origin: [testServer.origin, "http://evil.example"] },
      { origin: ["null", testServer.origin] },
      { "sec-fetch-site": "" },
      { "sec-fetch-site": "same-site", origin: testServer.origin },
    ])
      await rejection(await changing(headers), 403, "origin_not_allowed");
  });

  test("prevent the comparison of a duplicate token", async () => {
    const doubled = `{"token":"${wrongToken(1)}","token":"${TOKEN}"}`;
    const json = { method: "POST", headers: { "content-type": "application/json" } };
    await rejection(
      await testServer.request("/login", { ...json, body: doubled }),
      400,
      "invalid_body",
    );
    const escaped = `{"token":"${wrongToken(1)}","\\u0074oken":"${TOKEN}"}`;
    await rejection(
      await testServer.request("/login", { ...json, body: escaped }),
      400,
      "invalid_body",
    );
    expect((await testServer.form("/login", `token=${wrongToken(1)}&token=${TOKEN}`)).status).toBe(
      400,
    );
    expect((await testServer.get(`/?token=${wrongToken(1)}&token=${TOKEN}`)).status).toBe(400);
  });

  test("prefer a wrong Bearer token over a valid cookie", async () => {
    const me = await signIn(testServer);
    await rejection(
      await testServer.get("/api/status", { ...me, authorization: "Bearer wrong-token" }),
      401,
      "invalid_token",
    );
    expect(await isSignedIn(testServer, me)).toBe(true);
  });
});

test("limits wrong tokens per kind and keeps the owner signed in", async () => {
  await using own = await startLauncherServer();
  const me = await signIn(own);
  await block(own);
  await rejection(await own.post("/login", { token: wrongToken(1) }), 429, "rate_limited");
  expect(await isSignedIn(own, me)).toBe(true);
  expect((await own.post("/login", { token: TOKEN })).status).toBe(200);
  expect((await own.get("/pico", { authorization: `Bearer ${PICO_TOKEN}` })).status).toBe(200);
});
