import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../../kernel/index.ts";
import { channels } from "../../../../plugins/channels/index.ts";
import { picoServer } from "../../../../plugins/pico-server/index.ts";
import { memory } from "../../../../plugins/token-store/index.ts";
import {
  TOKEN,
  block,
  inSetup,
  isIn,
  mintLink,
  refusal,
  signedIn,
  startDashboard,
  tempHome,
  wrong,
  type DashboardStand,
} from "../../../support/dashboard-server.ts";

/** Every way to send the token to a running launcher. */
const ways: Record<string, (stand: DashboardStand, token: string) => Promise<Response>> = {
  json: (stand, token) => stand.post("/login", { token }),
  form: (stand, token) => stand.form("/login", { token }),
  query: (stand, token) => stand.get(`/?token=${token}`),
  bearer: (stand, token) => stand.get("/api/status", { authorization: `Bearer ${token}` }),
};
const inTurn = (n: number) => Object.values(ways)[n % 4]!;
const refusals = (stand: DashboardStand) =>
  stand.lines.filter(({ text }) => text === "sign-in failed");

describe("wrong token limit", () => {
  test("rejects the eleventh wrong token within a minute on every path", async () => {
    await using stand = await startDashboard();
    for (let n = 0; n < 10; n += 1) {
      expect((await inTurn(n)(stand, wrong(n))).status).toBe(401);
      stand.clock.increment(1_000);
    }
    for (let n = 10; n < 14; n += 1) {
      const answer = await inTurn(n)(stand, wrong(n));
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "50"]);
    }
    stand.clock.increment(49_000);
    expect((await stand.post("/login", { token: wrong(20) })).headers.get("retry-after")).toBe("1");
    stand.clock.increment(1_000);
    await refusal(await stand.post("/login", { token: wrong(20) }), 401, "invalid_token");
    const again = await stand.post("/login", { token: wrong(21) });
    expect(again.headers.get("retry-after")).toBe("1");
    await refusal(again, 429, "rate_limited");
  });

  test("does not extend a block by further attempts", async () => {
    await using stand = await startDashboard();
    await block(stand);
    for (let second = 0; second < 60; second += 5) {
      expect(
        (await stand.post("/login", { token: wrong(second) })).headers.get("retry-after"),
      ).toBe(String(60 - second));
      stand.clock.increment(5_000);
    }
    await refusal(await stand.post("/login", { token: wrong(99) }), 401, "invalid_token");
  });

  test("includes wrong setup codes", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const setup = (code: string) => stand.post("/setup", { code, keep: true });
    for (let n = 0; n < 9; n += 3) {
      await refusal(await setup(wrong(n)), 401, "invalid_code");
      await refusal(await stand.post("/login", { token: wrong(n + 1) }), 401, "invalid_token");
      expect((await stand.get(`/?token=${wrong(n + 2)}`)).status).toBe(401);
    }
    await refusal(await setup(wrong(9)), 401, "invalid_code");
    await refusal(await setup(wrong(10)), 429, "rate_limited");
    await refusal(await stand.post("/login", { token: wrong(10) }), 429, "rate_limited");
  });

  test("follows login_attempts_per_minute", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 3 } });
    for (let n = 0; n < 3; n += 1)
      await refusal(await stand.post("/login", { token: wrong(n) }), 401, "invalid_token");
    await refusal(await stand.post("/login", { token: wrong(3) }), 429, "rate_limited");
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
    await using stand = await startDashboard({ form });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => inTurn(n)(stand, wrong(n))),
    );
    const count = (status: number): number =>
      answers.filter((answer) => answer.status === status).length;
    expect([count(401), count(429)]).toEqual([10, 40]);
    expect(compared.size).toBe(10);
    expect(refusals(stand)).toHaveLength(10);
  });
});

describe("correct token", () => {
  test("passes a block if it has 43 or more characters", async () => {
    await using stand = await startDashboard();
    await block(stand);
    for (const way of Object.values(ways))
      expect([200, 303]).toContain((await way(stand, TOKEN)).status);
    await refusal(await stand.post("/login", { token: "x".repeat(43) }), 429, "rate_limited");
    await using fresh = await startDashboard({ form: inSetup() });
    await block(fresh);
    expect((await fresh.post("/setup", { code: TOKEN, keep: true })).status).toBe(200);
  });

  test("waits for the end of a block if it is shorter", async () => {
    const token = TOKEN.slice(0, 42);
    await using stand = await startDashboard({ form: memory({ launcher: token }) });
    await block(stand);
    for (const way of Object.values(ways)) expect((await way(stand, token)).status).toBe(429);
    stand.clock.increment(60_000);
    expect((await stand.post("/login", { token })).status).toBe(200);
  });

  test("neither clears nor increases the count", async () => {
    await using stand = await startDashboard();
    for (let n = 0; n < 9; n += 1) await stand.post("/login", { token: wrong(n) });
    for (let n = 0; n < 12; n += 1)
      expect((await stand.post("/login", { token: TOKEN })).status).toBe(200);
    await refusal(await stand.post("/login", { token: wrong(9) }), 401, "invalid_token");
    await refusal(await stand.post("/login", { token: wrong(10) }), 429, "rate_limited");
  });
});

describe("uncounted requests", () => {
  test("include repetitions of the same wrong token", async () => {
    await using stand = await startDashboard();
    for (let n = 0; n < 30; n += 1) expect((await inTurn(n)(stand, wrong(1))).status).toBe(401);
    for (let n = 2; n < 11; n += 1) {
      await refusal(await stand.post("/login", { token: wrong(n) }), 401, "invalid_token");
    }
    await refusal(await stand.post("/login", { token: wrong(11) }), 429, "rate_limited");
    await refusal(await stand.post("/login", { token: wrong(1) }), 429, "rate_limited");
  });

  test("include missing tokens, invalid bodies, links and rejected origins", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    const session = await signedIn(stand);
    const link = mintLink(stand);
    await stand.post("/login", { token: link });
    for (let n = 0; n < 3; n += 1) {
      await stand.post("/login", {});
      await stand.post("/login", { token: "" });
      await stand.request("/login", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: `{"token":"${wrong(n)}"`,
      });
      await stand.request("/login", {
        method: "POST",
        headers: { "content-type": "text/plain" },
        body: wrong(n),
      });
      await stand.post("/login", { token: wrong(n).repeat(400) });
      await stand.post("/login", { token: wrong(n) }, { origin: "https://evil.example" });
      await stand.post("/login", { token: wrong(n) }, { host: "evil.example" });
      await stand.post("/login", { token: link });
      await stand.post("/login", { token: `ott_${n}` });
      await stand.get(`/?token=${wrong(n)}`, session);
      await stand.get("/api/status", session);
      await stand.get("/api/status");
      await stand.get("/api/status", { cookie: `service_session_${stand.port}=${wrong(n)}` });
      await stand.get(`/nowhere?token=${wrong(n)}`);
      await stand.get("/healthz", { authorization: `Bearer ${wrong(n)}` });
      await stand.post("/setup", { code: wrong(n), keep: true });
    }
    expect(refusals(stand)).toEqual([]);
    await refusal(await stand.post("/login", { token: wrong(9) }), 401, "invalid_token");
    await refusal(await stand.post("/login", { token: wrong(10) }), 429, "rate_limited");
  });

  test("include those of live sessions during a block", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    await block(stand);
    expect(await isIn(stand, session)).toBe(true);
    expect((await stand.open("/", session)).status).toBe(200);
    expect((await stand.open("/login")).status).toBe(200);
    expect((await stand.get("/healthz")).status).toBe(200);
    await refusal(await stand.get("/api/status"), 401, "unauthorized");
  });
});

describe("limited address", () => {
  test("has its own count, even on loopback", async () => {
    await using stand = await startDashboard();
    await block(stand, "127.0.0.2");
    await refusal(
      await stand.post("/login", { token: wrong(1) }, {}, "127.0.0.2"),
      429,
      "rate_limited",
    );
    await refusal(
      await stand.post("/login", { token: wrong(1) }, {}, "127.0.0.3"),
      401,
      "invalid_token",
    );
  });

  test("follows trusted proxies, with /64 for IPv6", async () => {
    await using stand = await startDashboard({
      launcher: { trusted_proxies: ["127.0.0.1"], login_attempts_per_minute: 1 },
    });
    const tried = async (address: string, n: number): Promise<number> =>
      (await stand.post("/login", { token: wrong(n) }, { "x-forwarded-for": address })).status;
    expect(await tried("10.0.0.1", 1)).toBe(401);
    expect(await tried("10.0.0.1", 2)).toBe(429);
    expect(await tried("::ffff:10.0.0.1", 3)).toBe(429);
    expect(await tried("10.0.0.2", 4)).toBe(401);
    expect(await tried("2001:db8::1", 5)).toBe(401);
    expect(await tried("2001:db8::ffff:1", 6)).toBe(429);
    expect(await tried("2001:db8:0:1::1", 7)).toBe(401);
    expect(refusals(stand).map(({ ip }) => ip)).toEqual([
      "10.0.0.1",
      "10.0.0.2",
      "2001:db8::1",
      "2001:db8:0:1::1",
    ]);
  });

  test("ignores headers of untrusted clients", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    await stand.post("/login", { token: wrong(1) }, { "x-forwarded-for": "10.0.0.1" });
    await refusal(
      await stand.post("/login", { token: wrong(2) }, { "x-forwarded-for": "10.0.0.2" }),
      429,
      "rate_limited",
    );
  });
});

describe("sign-in log", () => {
  test("has one line per counted failure and no token", async () => {
    await using stand = await startDashboard();
    await ways["json"]!(stand, wrong(1));
    await ways["form"]!(stand, wrong(1));
    await ways["query"]!(stand, wrong(2));
    await ways["bearer"]!(stand, wrong(3));
    const what = { level: "warn", text: "sign-in failed", plugin: "dashboard" };
    const line = { ...what, reason: "invalid_token", ip: "127.0.0.1" };
    expect(refusals(stand)).toEqual([
      { ...line, via: "form", count: 1 },
      { ...line, via: "query", count: 2 },
      { ...line, via: "bearer", count: 3 },
    ]);
    await block(stand);
    const before = refusals(stand).length;
    await ways["json"]!(stand, wrong(50));
    expect(refusals(stand)).toHaveLength(before);
    expect(stand.logged()).not.toContain("wrong-token");
  });
});

describe("current field", () => {
  test("shares the limit", async () => {
    await using folder = await tempHome();
    await using stand = await startDashboard({
      home: folder.home,
      env: { SERVICE_LAUNCHER_TOKEN: TOKEN },
      before: [channels(), picoServer()] as unknown as AnyPlugin[],
      launcher: { login_attempts_per_minute: 2 },
    });
    const session = await signedIn(stand);
    const put = (current: string) =>
      stand.request("/api/channels/pico", {
        method: "PUT",
        headers: { ...session, "content-type": "application/json", "if-match": "x" },
        body: JSON.stringify({ allow_origins: ["*"], current }),
      });
    await refusal(await put(wrong(1)), 403, "invalid_token");
    await refusal(await stand.post("/login", { token: wrong(2) }), 401, "invalid_token");
    const blocked = await put(wrong(3));
    expect(blocked.headers.get("retry-after")).toBe("60");
    await refusal(blocked, 429, "rate_limited");
    await refusal(await put(TOKEN), 412, "etag_mismatch");
  });
});
