import { describe, expect, test } from "vitest";
import {
  TOKEN,
  cookieFrom,
  setupBackend,
  isSignedIn,
  createLoginLink,
  rejection,
  setCookieOf,
  startDashboard,
} from "../../../../support/dashboard-server.ts";

describe("POST /setup with the setup cookie", () => {
  test("needs no code", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const answer = await server.post("/login", { token: createLoginLink(server) });
    const cookie = cookieFrom(answer, "setup");
    expect(setCookieOf(answer, "setup")).toMatch(/; Max-Age=900; Path=\/; HttpOnly; SameSite=Lax$/);
    expect((await server.post("/setup", { keep: true }, { cookie })).status).toBe(200);
  });

  test("requires the code with Origin: null", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const cookie = cookieFrom(await server.open(`/?token=${TOKEN}`), "setup");
    const fields = { keep: "true" };
    for (const sent of [fields, { ...fields, code: " " }]) {
      const answer = await server.form("/setup", sent, { cookie, origin: "null" });
      expect([answer.status, answer.headers.get("set-cookie")]).toEqual([403, null]);
      // The user may press the button before the script runs: the form comes back with a message.
      expect(await answer.text()).toContain("Paste the generated token");
    }
    expect(server.kernel.state()).toBe("setup");
    expect((await server.form("/setup", fields, { cookie, origin: server.origin })).status).toBe(
      303,
    );
  });

  test("expires on time even if the clock is set back", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    let passed = 0.25;
    Object.assign(server.clock, { monotonic: () => passed });
    const cookie = cookieFrom(await server.open(`/?token=${TOKEN}`), "setup");
    passed += 15 * 60_000;
    await rejection(await server.post("/setup", { keep: true }, { cookie }), 401, "invalid_code");
    passed -= 1;
    expect((await server.post("/setup", { keep: true }, { cookie })).status).toBe(200);
  });

  test("accepts only an unchanged cookie of this process for 15 minutes", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const cookie = cookieFrom(await server.open(`/?token=${TOKEN}`), "setup");
    const value = cookie.split("=").slice(1).join("=");
    await rejection(
      await server.get("/api/status", { cookie: `service_session_${server.port}=${value}` }),
      403,
      "setup_required",
    );
    for (let at = 0; at < value.length; at += 1) {
      const changed = `${value.slice(0, at)}${value[at] === "A" ? "B" : "A"}${value.slice(at + 1)}`;
      await rejection(
        await server.post(
          "/setup",
          { keep: true },
          { cookie: `service_setup_${server.port}=${changed}` },
        ),
        401,
        "invalid_code",
      );
    }
    server.clock.increment(15 * 60_000);
    await rejection(await server.post("/setup", { keep: true }, { cookie }), 401, "invalid_code");
    await using other = await startDashboard({ form: setupBackend() });
    const elsewhere = cookieFrom(await other.open(`/?token=${TOKEN}`), "setup")
      .split("=")
      .slice(1)
      .join("=");
    await rejection(
      await server.post(
        "/setup",
        { keep: true },
        { cookie: `service_setup_${server.port}=${elsewhere}` },
      ),
      401,
      "invalid_code",
    );
  });

  test("does not accept a setup cookie as session", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const setup = cookieFrom(await server.open(`/?token=${TOKEN}`), "setup")
      .split("=")
      .slice(1)
      .join("=");
    await server.post("/setup", { code: TOKEN, keep: true });
    expect(await isSignedIn(server, { cookie: `service_session_${server.port}=${setup}` })).toBe(
      false,
    );
  });
});
