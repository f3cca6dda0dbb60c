import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../../../kernel/index.ts";
import { channels } from "../../../../../plugins/channels/index.ts";
import { picoServer } from "../../../../../plugins/pico-server/index.ts";
import { memory } from "../../../../../plugins/token-store/index.ts";
import {
  TOKEN,
  block,
  setupBackend,
  isSignedIn,
  createLoginLink,
  rejection,
  signIn,
  startDashboard,
  tempHome,
  wrongToken,
  type DashboardServer,
} from "../../../../support/dashboard-server.ts";

/** Every way to send the token to a running launcher. */
const ways: Record<string, (server: DashboardServer, token: string) => Promise<Response>> = {
  json: (server, token) => server.post("/login", { token }),
  form: (server, token) => server.form("/login", { token }),
  query: (server, token) => server.get(`/?token=${token}`),
  bearer: (server, token) => server.get("/api/status", { authorization: `Bearer ${token}` }),
};
const inTurn = (n: number) => Object.values(ways)[n % 4]!;
const refusals = (server: DashboardServer) =>
  server.lines.filter(({ text }) => text === "sign-in failed");

describe("wrong token limit", () => {
  test("rejects the eleventh wrong token within a minute on every path", async () => {
    await using server = await startDashboard();
    for (let n = 0; n < 10; n += 1) {
      expect((await inTurn(n)(server, wrongToken(n))).status).toBe(401);
      server.clock.increment(1_000);
    }
    for (let n = 10; n < 14; n += 1) {
      const answer = await inTurn(n)(server, wrongToken(n));
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "50"]);
    }
    server.clock.increment(49_000);
    expect(
      (await server.post("/login", { token: wrongToken(20) })).headers.get("retry-after"),
    ).toBe("1");
    server.clock.increment(1_000);
    await rejection(await server.post("/login", { token: wrongToken(20) }), 401, "invalid_token");
    const again = await server.post("/login", { token: wrongToken(21) });
    expect(again.headers.get("retry-after")).toBe("1");
    await rejection(again, 429, "rate_limited");
  });

  test("does not extend a block by further attempts", async () => {
    await using server = await startDashboard();
    await block(server);
    for (let second = 0; second < 60; second += 5) {
      expect(
        (await server.post("/login", { token: wrongToken(second) })).headers.get("retry-after"),
      ).toBe(String(60 - second));
      server.clock.increment(5_000);
    }
    await rejection(await server.post("/login", { token: wrongToken(99) }), 401, "invalid_token");
  });

  test("includes wrong setup codes", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const setup = (code: string) => server.post("/setup", { code, keep: true });
    for (let n = 0; n < 9; n += 3) {
      await rejection(await setup(wrongToken(n)), 401, "invalid_code");
      await rejection(
        await server.post("/login", { token: wrongToken(n + 1) }),
        401,
        "invalid_token",
      );
      expect((await server.get(`/?token=${wrongToken(n + 2)}`)).status).toBe(401);
    }
    await rejection(await setup(wrongToken(9)), 401, "invalid_code");
    await rejection(await setup(wrongToken(10)), 429, "rate_limited");
    await rejection(await server.post("/login", { token: wrongToken(10) }), 429, "rate_limited");
  });

  test("follows login_attempts_per_minute", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 3 } });
    for (let n = 0; n < 3; n += 1)
      await rejection(await server.post("/login", { token: wrongToken(n) }), 401, "invalid_token");
    await rejection(await server.post("/login", { token: wrongToken(3) }), 429, "rate_limited");
  });

  test("compares at most ten of 50 parallel tokens", async () => {
    const compared = new Set<string>();
    const form = {
      ...memory({ launcher: TOKEN }),
      verify: async (_: string, candidate: string) => {
        compared.add(candidate);
        await new Promise(setImmediate);
        return candidate === TOKEN;
      },
    };
    await using server = await startDashboard({ form });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => inTurn(n)(server, wrongToken(n))),
    );
    const count = (status: number): number =>
      answers.filter((answer) => answer.status === status).length;
    expect([count(401), count(429)]).toEqual([10, 40]);
    expect(compared.size).toBe(10);
    expect(refusals(server)).toHaveLength(10);
  });
});

describe("correct token", () => {
  test("passes a block if it has 43 or more characters", async () => {
    await using server = await startDashboard();
    await block(server);
    for (const way of Object.values(ways))
      expect([200, 303]).toContain((await way(server, TOKEN)).status);
    await rejection(await server.post("/login", { token: "x".repeat(43) }), 429, "rate_limited");
    await using fresh = await startDashboard({ form: setupBackend() });
    await block(fresh);
    expect((await fresh.post("/setup", { code: TOKEN, keep: true })).status).toBe(200);
  });

  test("waits for the end of a block if it is shorter", async () => {
    const token = TOKEN.slice(0, 42);
    await using server = await startDashboard({ form: memory({ launcher: token }) });
    await block(server);
    for (const way of Object.values(ways)) expect((await way(server, token)).status).toBe(429);
    server.clock.increment(60_000);
    expect((await server.post("/login", { token })).status).toBe(200);
  });

  test("neither clears nor increases the count", async () => {
    await using server = await startDashboard();
    for (let n = 0; n < 9; n += 1) await server.post("/login", { token: wrongToken(n) });
    for (let n = 0; n < 12; n += 1)
      expect((await server.post("/login", { token: TOKEN })).status).toBe(200);
    await rejection(await server.post("/login", { token: wrongToken(9) }), 401, "invalid_token");
    await rejection(await server.post("/login", { token: wrongToken(10) }), 429, "rate_limited");
  });
});

describe("uncounted requests", () => {
  test("include repetitions of the same wrong token", async () => {
    await using server = await startDashboard();
    for (let n = 0; n < 30; n += 1)
      expect((await inTurn(n)(server, wrongToken(1))).status).toBe(401);
    for (let n = 2; n < 11; n += 1) {
      await rejection(await server.post("/login", { token: wrongToken(n) }), 401, "invalid_token");
    }
    await rejection(await server.post("/login", { token: wrongToken(11) }), 429, "rate_limited");
    await rejection(await server.post("/login", { token: wrongToken(1) }), 429, "rate_limited");
  });

  test("include missing tokens, invalid bodies, links and rejected origins", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    const session = await signIn(server);
    const link = createLoginLink(server);
    await server.post("/login", { token: link });
    for (let n = 0; n < 3; n += 1) {
      await server.post("/login", {});
      await server.post("/login", { token: "" });
      await server.request("/login", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: `{"token":"${wrongToken(n)}"`,
      });
      await server.request("/login", {
        method: "POST",
        headers: { "content-type": "text/plain" },
        body: wrongToken(n),
      });
      await server.post("/login", { token: wrongToken(n).repeat(400) });
      await server.post("/login", { token: wrongToken(n) }, { origin: "https://evil.example" });
      await server.post("/login", { token: wrongToken(n) }, { host: "evil.example" });
      await server.post("/login", { token: link });
      await server.post("/login", { token: `ott_${n}` });
      await server.get(`/?token=${wrongToken(n)}`, session);
      await server.get("/api/status", session);
      await server.get("/api/status");
      await server.get("/api/status", {
        cookie: `service_session_${server.port}=${wrongToken(n)}`,
      });
      await server.get(`/nowhere?token=${wrongToken(n)}`);
      await server.get("/healthz", { authorization: `Bearer ${wrongToken(n)}` });
      await server.post("/setup", { code: wrongToken(n), keep: true });
    }
    expect(refusals(server)).toEqual([]);
    await rejection(await server.post("/login", { token: wrongToken(9) }), 401, "invalid_token");
    await rejection(await server.post("/login", { token: wrongToken(10) }), 429, "rate_limited");
  });

  test("include those of live sessions during a block", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    await block(server);
    expect(await isSignedIn(server, session)).toBe(true);
    expect((await server.open("/overview", session)).status).toBe(200);
    expect((await server.open("/login")).status).toBe(200);
    expect((await server.get("/healthz")).status).toBe(200);
    await rejection(await server.get("/api/status"), 401, "unauthorized");
  });
});

describe("limited address", () => {
  test("has its own count, even on loopback", async () => {
    await using server = await startDashboard();
    await block(server, "127.0.0.2");
    await rejection(
      await server.post("/login", { token: wrongToken(1) }, {}, "127.0.0.2"),
      429,
      "rate_limited",
    );
    await rejection(
      await server.post("/login", { token: wrongToken(1) }, {}, "127.0.0.3"),
      401,
      "invalid_token",
    );
  });

  test("follows trusted proxies, with /64 for IPv6", async () => {
    await using server = await startDashboard({
      launcher: { trusted_proxies: ["127.0.0.1"], login_attempts_per_minute: 1 },
    });
    const tried = async (address: string, n: number): Promise<number> =>
      (await server.post("/login", { token: wrongToken(n) }, { "x-forwarded-for": address }))
        .status;
    expect(await tried("10.0.0.1", 1)).toBe(401);
    expect(await tried("10.0.0.1", 2)).toBe(429);
    expect(await tried("::ffff:10.0.0.1", 3)).toBe(429);
    expect(await tried("10.0.0.2", 4)).toBe(401);
    expect(await tried("2001:db8::1", 5)).toBe(401);
    expect(await tried("2001:db8::ffff:1", 6)).toBe(429);
    expect(await tried("2001:db8:0:1::1", 7)).toBe(401);
    expect(refusals(server).map(({ ip }) => ip)).toEqual([
      "10.0.0.1",
      "10.0.0.2",
      "2001:db8::1",
      "2001:db8:0:1::1",
    ]);
  });

  test("ignores headers of untrusted clients", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    await server.post("/login", { token: wrongToken(1) }, { "x-forwarded-for": "10.0.0.1" });
    await rejection(
      await server.post("/login", { token: wrongToken(2) }, { "x-forwarded-for": "10.0.0.2" }),
      429,
      "rate_limited",
    );
  });
});

describe("sign-in log", () => {
  test("has one line per counted failure and no token", async () => {
    await using server = await startDashboard();
    await ways["json"]!(server, wrongToken(1));
    await ways["form"]!(server, wrongToken(1));
    await ways["query"]!(server, wrongToken(2));
    await ways["bearer"]!(server, wrongToken(3));
    const what = { level: "warn", text: "sign-in failed", plugin: "dashboard" };
    const line = { ...what, reason: "invalid_token", ip: "127.0.0.1" };
    expect(refusals(server)).toEqual([
      { ...line, via: "form", count: 1 },
      { ...line, via: "query", count: 2 },
      { ...line, via: "bearer", count: 3 },
    ]);
    await block(server);
    const before = refusals(server).length;
    await ways["json"]!(server, wrongToken(50));
    expect(refusals(server)).toHaveLength(before);
    expect(server.logged()).not.toContain("wrong-token");
  });
});

describe("current field", () => {
  test("shares the limit", async () => {
    await using folder = await tempHome();
    await using server = await startDashboard({
      home: folder.home,
      env: { SERVICE_LAUNCHER_TOKEN: TOKEN },
      before: [channels(), picoServer({ enabled: false })] as unknown as AnyPlugin[],
      launcher: { login_attempts_per_minute: 2 },
    });
    const session = await signIn(server);
    const put = (current: string) =>
      server.request("/api/channels/pico", {
        method: "PUT",
        headers: { ...session, "content-type": "application/json", "if-match": "x" },
        body: JSON.stringify({ allow_origins: ["*"], current }),
      });
    await rejection(await put(wrongToken(1)), 403, "invalid_token");
    await rejection(await server.post("/login", { token: wrongToken(2) }), 401, "invalid_token");
    const blocked = await put(wrongToken(3));
    expect(blocked.headers.get("retry-after")).toBe("60");
    await rejection(blocked, 429, "rate_limited");
    await rejection(await put(TOKEN), 412, "etag_mismatch");
  });
});
