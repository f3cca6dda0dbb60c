import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AnyPlugin, Plugin } from "../../../../../kernel/index.ts";
import { channels, type Channels } from "../../../../../plugins/channels/index.ts";
import { picoServer } from "../../../../../plugins/pico-server/index.ts";
import { memory } from "../../../../../plugins/token-store/index.ts";
import {
  START_TIME,
  DAY,
  TOKEN,
  setupBackend,
  createLoginLink,
  rejection,
  signIn,
  startDashboard,
  tempHome,
  wrongToken,
  type DashboardServer,
  type HeaderLines,
} from "../../../../support/dashboard-server.ts";

const json = async (
  server: DashboardServer,
  path: string,
  headers: HeaderLines = {},
): Promise<Record<string, unknown>> =>
  (await (await server.get(path, headers)).json()) as Record<string, unknown>;

describe("GET /api/auth/status", () => {
  test("returns state and token hints without paths to anyone", async () => {
    await using server = await startDashboard({ dashboard: { ways: () => ["file", "log"] } });
    expect(await json(server, "/api/auth/status")).toEqual({
      authenticated: false,
      state: "running",
      ways: ["file", "log"],
    });
    await using fresh = await startDashboard({ form: setupBackend() });
    expect(await json(fresh, "/api/auth/status")).toEqual({
      authenticated: false,
      state: "setup",
      ways: [],
    });
  });

  test("adds expiry and token source for a signed-in browser", async () => {
    await using server = await startDashboard();
    expect(await json(server, "/api/auth/status", await signIn(server))).toEqual({
      authenticated: true,
      state: "running",
      ways: [],
      expiresAt: new Date(START_TIME + 7 * DAY).toISOString(),
      source: "host",
      managedByEnv: false,
    });
    await using folder = await tempHome();
    await using other = await startDashboard({
      home: folder.home,
      env: { SERVICE_LAUNCHER_TOKEN: TOKEN },
    });
    expect(await json(other, "/api/auth/status", await signIn(other))).toMatchObject({
      source: "env",
      managedByEnv: true,
    });
  });

  test("compares no Bearer and counts nothing", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (let n = 0; n < 3; n += 1) {
      expect(
        await json(server, "/api/auth/status", { authorization: `Bearer ${wrongToken(n)}` }),
      ).toMatchObject({ authenticated: false });
    }
    await rejection(await server.post("/login", { token: wrongToken(9) }), 401, "invalid_token");
  });

  test("treats an ended session as none", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    await server.post("/logout", {}, session);
    expect(await json(server, "/api/auth/status", session)).toEqual({
      authenticated: false,
      state: "running",
      ways: [],
    });
  });
});

describe("GET /api/status", () => {
  test("requires a session or Bearer", async () => {
    await using server = await startDashboard();
    await rejection(await server.get("/api/status"), 401, "unauthorized");
    expect((await server.get("/api/status", { authorization: `Bearer ${TOKEN}` })).status).toBe(
      200,
    );
    expect((await server.get("/api/status", await signIn(server))).status).toBe(200);
  });

  test("returns the content of the overview", async () => {
    await using server = await startDashboard({ dashboard: { version: "1.2.3" } });
    server.clock.increment(5_000);
    expect(await json(server, "/api/status", { authorization: `Bearer ${TOKEN}` })).toEqual({
      state: "running",
      version: "1.2.3",
      startedAt: START_TIME,
      now: START_TIME + 5_000,
      addresses: [server.base.href],
      tokens: [{ name: "launcher", source: "host", managedByEnv: false }],
      signIns: [],
      refusals: [],
      warnings: [],
    });
  });

  test("lists ten sign-ins and rejections, newest first, with repetitions counted", async () => {
    await using server = await startDashboard({ launcher: { trusted_proxies: ["127.0.0.1"] } });
    await server.post("/login", { token: createLoginLink(server) });
    server.clock.increment(1);
    const session = await signIn(server);
    await server.post("/login", { token: wrongToken(0) });
    server.clock.increment(1);
    await server.get(`/?token=${wrongToken(1)}`);
    const { signIns, refusals } = await json(server, "/api/status", session);
    expect(signIns).toEqual([
      { at: START_TIME + 1, address: "127.0.0.1", via: "form" },
      { at: START_TIME, address: "127.0.0.1", via: "link" },
    ]);
    expect(refusals).toEqual([
      { at: START_TIME + 2, times: 1, address: "127.0.0.1", via: "query", code: "invalid_token" },
      { at: START_TIME + 1, times: 1, address: "127.0.0.1", via: "form", code: "invalid_token" },
    ]);
    for (let n = 0; n < 12; n += 1) await server.post("/login", { token: wrongToken(n) });
    expect((await json(server, "/api/status", session))["refusals"]).toMatchObject([
      { times: 2, via: "form", code: "rate_limited", until: START_TIME + 60_002 },
      { times: 11, via: "form", code: "invalid_token" },
      { times: 1, via: "query" },
    ]);
    for (let n = 0; n < 12; n += 1) {
      await server.post("/login", { token: wrongToken(n) }, { "x-forwarded-for": `10.0.0.${n}` });
    }
    expect((await json(server, "/api/status", session))["refusals"] as unknown[]).toHaveLength(10);
  });

  test("warns if other machines can connect without encryption", async () => {
    await using server = await startDashboard({ host: "0.0.0.0" });
    const { warnings } = await json(server, "/api/status", { authorization: `Bearer ${TOKEN}` });
    expect((warnings as { id: string }[]).map(({ id }) => id)).toEqual(["public-without-tls"]);
  });

  test("warns if a trusted proxy has a loopback address", async () => {
    await using server = await startDashboard({ launcher: { trusted_proxies: ["127.0.0.0/8"] } });
    const { warnings } = await json(server, "/api/status", { authorization: `Bearer ${TOKEN}` });
    expect(warnings).toMatchObject([
      { id: "trusted-loopback", text: expect.stringContaining("127.0.0.0/8") },
    ]);
    const { headers } = await server.post("/login", { token: TOKEN });
    const cookie = String(headers.get("set-cookie")).split(";")[0]!;
    const page = await (await server.get("/overview", { cookie })).text();
    expect(page).toContain("any program on this machine can set the client address");
  });

  test("warns about weak tokens and tokens in config.json", async () => {
    await using folder = await tempHome();
    const config = { channels: { pico: { enabled: true, token: "short-one" } } };
    await writeFile(join(folder.home, "config.json"), JSON.stringify(config));
    const before = [channels(), picoServer({ enabled: false })] as unknown as AnyPlugin[];
    await using server = await startDashboard({
      home: folder.home,
      before,
      env: { SERVICE_LAUNCHER_TOKEN: "short-too" },
    });
    const asked = await json(server, "/api/status", { authorization: "Bearer short-too" });
    expect(asked["warnings"]).toMatchObject([
      {
        id: "token-weak",
        text: expect.stringContaining("launcher"),
        fix: expect.stringContaining("SERVICE_LAUNCHER_TOKEN"),
      },
      { id: "token-in-config", text: expect.stringContaining("pico") },
      {
        id: "token-weak",
        text: expect.stringContaining("pico"),
        fix: expect.stringContaining("doorward token rotate pico"),
      },
    ]);
  });

  test("warns once about a token file that cannot be read", async () => {
    await using folder = await tempHome();
    const before = [channels(), picoServer({ enabled: false })] as unknown as AnyPlugin[];
    await using server = await startDashboard({
      home: folder.home,
      before,
      env: { SERVICE_LAUNCHER_TOKEN: TOKEN },
    });
    const ids = async () =>
      (await json(server, "/api/status", { authorization: `Bearer ${TOKEN}` }))["warnings"] as {
        id: string;
      }[];
    await writeFile(join(folder.home, ".security.yml"), "channels: [");
    expect(await ids()).toMatchObject([
      { id: "tokens-not-taken", text: expect.stringContaining(".security.yml, line 1") },
    ]);
    await writeFile(join(folder.home, "config.json"), "{");
    await rm(join(folder.home, ".security.yml"));
    await expect.poll(ids, { timeout: 20_000 }).toMatchObject([{ id: "settings-not-taken" }]);
  });

  test("contains no token", async () => {
    await using server = await startDashboard({ form: memory({ launcher: TOKEN }) });
    const session = await signIn(server);
    const [body, page] = [
      await (await server.get("/api/status", session)).text(),
      await (await server.open("/overview", session)).text(),
    ];
    for (const text of [body, page]) {
      expect(text).not.toContain(TOKEN);
      expect(text).not.toContain(session.cookie.split("=")[1]!.split(".")[0]!);
    }
  });
});

describe("GET /", () => {
  test("leads a signed-in browser to the overview before the first answer", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    const answer = await server.open("/", session);
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/overview"]);
  });

  test("leads a signed-in browser to the chat after an answer", async () => {
    const answers = [{ at: START_TIME, ms: 20 }];
    const answered: Plugin<{ offers: { channels: Channels } }> = {
      name: "channels",
      api: 1,
      start: () => {
        const traffic = () => ({ received: 1, sent: 1, answers });
        const recordTimes = () => () => undefined;
        const list = () => [];
        return { channels: { traffic, recordTimes, list } as unknown as Channels };
      },
    };
    await using server = await startDashboard({ before: [answered as unknown as AnyPlugin] });
    const session = await signIn(server);
    expect((await server.open("/", session)).headers.get("location")).toBe("/chat");
    const figures = await json(server, "/api/figures", session);
    expect(figures["answers"]).toEqual({ count: 1, medianMs: 20, p95Ms: 20 });
  });
});

describe("GET /overview", () => {
  test("shows the overview to a signed-in browser, by GET and HEAD", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    const answer = await server.open("/overview", session);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      200,
      "text/html; charset=utf-8",
    ]);
    expect((await server.request("/overview", { method: "HEAD", headers: session })).status).toBe(
      200,
    );
  });
});
