import { describe, expect, test } from "vitest";
import {
  TOKEN,
  cookieFrom,
  inSetup,
  isIn,
  mintLink,
  refusal,
  setCookieOf,
  startDashboard,
} from "../../../support/dashboard-server.ts";

describe("POST /setup with the setup cookie", () => {
  test("needs no code", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const answer = await stand.post("/login", { token: mintLink(stand) });
    const cookie = cookieFrom(answer, "setup");
    expect(setCookieOf(answer, "setup")).toMatch(/; Max-Age=900; Path=\/; HttpOnly; SameSite=Lax$/);
    expect((await stand.post("/setup", { keep: true }, { cookie })).status).toBe(200);
  });

  test("requires the code with Origin: null", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const cookie = cookieFrom(await stand.open(`/?token=${TOKEN}`), "setup");
    const fields = { keep: "true" };
    for (const sent of [fields, { ...fields, code: " " }]) {
      const answer = await stand.form("/setup", sent, { cookie, origin: "null" });
      expect([answer.status, answer.headers.get("set-cookie")]).toEqual([403, null]);
      // The user may press the button before the script runs: the form comes back with a message.
      expect(await answer.text()).toContain("Paste the generated token");
    }
    expect(stand.kernel.state()).toBe("setup");
    expect((await stand.form("/setup", fields, { cookie, origin: stand.origin })).status).toBe(303);
  });

  test("expires on time even if the clock is set back", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    let passed = 0.25;
    Object.assign(stand.clock, { monotonic: () => passed });
    const cookie = cookieFrom(await stand.open(`/?token=${TOKEN}`), "setup");
    passed += 15 * 60_000;
    await refusal(await stand.post("/setup", { keep: true }, { cookie }), 401, "invalid_code");
    passed -= 1;
    expect((await stand.post("/setup", { keep: true }, { cookie })).status).toBe(200);
  });

  test("accepts only an unchanged cookie of this process for 15 minutes", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const cookie = cookieFrom(await stand.open(`/?token=${TOKEN}`), "setup");
    const value = cookie.split("=").slice(1).join("=");
    await refusal(
      await stand.get("/api/status", { cookie: `service_session_${stand.port}=${value}` }),
      403,
      "setup_required",
    );
    for (let at = 0; at < value.length; at += 1) {
      const changed = `${value.slice(0, at)}${value[at] === "A" ? "B" : "A"}${value.slice(at + 1)}`;
      await refusal(
        await stand.post(
          "/setup",
          { keep: true },
          { cookie: `service_setup_${stand.port}=${changed}` },
        ),
        401,
        "invalid_code",
      );
    }
    stand.clock.increment(15 * 60_000);
    await refusal(await stand.post("/setup", { keep: true }, { cookie }), 401, "invalid_code");
    await using other = await startDashboard({ form: inSetup() });
    const elsewhere = cookieFrom(await other.open(`/?token=${TOKEN}`), "setup")
      .split("=")
      .slice(1)
      .join("=");
    await refusal(
      await stand.post(
        "/setup",
        { keep: true },
        { cookie: `service_setup_${stand.port}=${elsewhere}` },
      ),
      401,
      "invalid_code",
    );
  });

  test("does not accept a setup cookie as session", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const setup = cookieFrom(await stand.open(`/?token=${TOKEN}`), "setup")
      .split("=")
      .slice(1)
      .join("=");
    await stand.post("/setup", { code: TOKEN, keep: true });
    expect(await isIn(stand, { cookie: `service_session_${stand.port}=${setup}` })).toBe(false);
  });
});
