import { describe, expect, test } from "vitest";
import {
  TOKEN,
  cookieFrom,
  createLoginLink,
  rejection,
  setupBackend,
  signIn,
  startDashboard,
  wrongToken,
  type DashboardServer,
} from "../../../../support/dashboard-server.ts";

const setupCookie = async (server: DashboardServer): Promise<string> =>
  cookieFrom(await server.open(`/?token=${createLoginLink(server)}`), "setup");

describe("POST /setup/token", () => {
  test("returns the generated token for a browser with the setup cookie", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const cookie = await setupCookie(server);
    expect(await (await server.open("/setup", { cookie })).text()).not.toContain(TOKEN);
    const answer = await server.post("/setup/token", {}, { cookie });
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    expect(await answer.json()).toEqual({ token: TOKEN });
    expect(server.kernel.state()).toBe("setup");
  });

  test("leaves one log line without the token", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    await server.post("/setup/token", {}, { cookie: await setupCookie(server) });
    const shown = server.lines.filter(
      ({ text }) => text === "the launcher token was shown during setup",
    );
    expect(shown).toMatchObject([{ level: "info", ip: "127.0.0.1" }]);
    expect(server.logged()).not.toContain(TOKEN);
  });

  test("rejects browsers without the cookie and counts no attempt", async () => {
    await using server = await startDashboard({
      form: setupBackend(),
      launcher: { login_attempts_per_minute: 1 },
    });
    const cookie = await setupCookie(server);
    for (const headers of [
      {},
      { cookie: `${cookie}x` },
      { cookie: cookie.replace("_setup_", "_session_") },
      { authorization: `Bearer ${TOKEN}` },
    ]) {
      const answer = await server.post("/setup/token", {}, headers);
      expect(JSON.stringify(await rejection(answer, 401, "invalid_code"))).not.toContain(TOKEN);
    }
    await rejection(await server.post("/login", { token: wrongToken(1) }), 401, "invalid_token");
  });

  test("rejects the cookie after 15 minutes", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const cookie = await setupCookie(server);
    server.clock.increment(15 * 60_000);
    await rejection(await server.post("/setup/token", {}, { cookie }), 401, "invalid_code");
  });

  test("rejects pages of other origins, forms without an origin and GET", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const cookie = await setupCookie(server);
    for (const headers of [
      { origin: "http://127.0.0.1:1" },
      { origin: "null" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "cross-site" },
    ]) {
      const answer = await server.post("/setup/token", {}, { cookie, ...headers });
      await rejection(answer, 403, "origin_not_allowed");
    }
    const form = await server.form("/setup/token", {}, { cookie, origin: "null" });
    expect([form.status, await form.text()]).toEqual([403, expect.not.stringContaining(TOKEN)]);
    const get = await server.get("/setup/token", { cookie });
    await rejection(get, 403, "setup_required");
  });

  test("returns no token after setup, to signed-in browsers neither", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const cookie = await setupCookie(server);
    expect((await server.post("/setup", { keep: true }, { cookie })).status).toBe(200);
    for (const headers of [{ cookie }, await signIn(server)])
      await rejection(await server.post("/setup/token", {}, headers), 409, "already_set_up");
  });
});
