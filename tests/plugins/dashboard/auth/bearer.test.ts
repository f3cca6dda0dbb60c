import { describe, expect, test } from "vitest";
import {
  TOKEN,
  isIn,
  refusal,
  signedIn,
  startDashboard,
  wrong,
} from "../../../support/dashboard-server.ts";

describe("Authorization: Bearer", () => {
  test("opens the API and sets no cookie", async () => {
    await using stand = await startDashboard();
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      const answer = await stand.get("/api/status", { authorization: `${scheme} ${TOKEN}` });
      expect(answer.status).toBe(200);
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
    expect(stand.facts).toEqual([]);
  });

  test("answers 401 to a wrong token despite a valid cookie", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 2 } });
    const session = await signedIn(stand);
    await refusal(
      await stand.get("/api/status", { authorization: `Bearer ${wrong(1)}` }),
      401,
      "invalid_token",
    );
    await refusal(
      await stand.get("/api/status", { authorization: `Bearer ${wrong(2)}`, ...session }),
      401,
      "invalid_token",
    );
    await refusal(
      await stand.get("/api/status", { authorization: `Bearer ${wrong(3)}` }),
      429,
      "rate_limited",
    );
    expect(await isIn(stand, session)).toBe(true);
  });

  test("leaves a valid cookie unchanged", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    for (const token of [TOKEN, wrong(1)]) {
      const answer = await stand.get("/api/status", {
        authorization: `Bearer ${token}`,
        ...session,
      });
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
  });

  test("answers 400 without comparison if it is repeated", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (const lines of [
      [`Bearer ${wrong(1)}`, `Bearer ${wrong(2)}`],
      [`Bearer ${TOKEN}`, `Bearer ${wrong(1)}`],
    ]) {
      expect((await stand.get("/api/status", { authorization: lines })).status).toBe(400);
    }
    await refusal(await stand.post("/login", { token: wrong(9) }), 401, "invalid_token");
  });

  test("opens no page", async () => {
    await using stand = await startDashboard();
    expect((await stand.open("/", { authorization: `Bearer ${TOKEN}` })).status).toBe(302);
    await refusal(await stand.get("/", { authorization: `Bearer ${TOKEN}` }), 401, "unauthorized");
  });

  test("ignores other schemes and empty values", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (const line of [
      `Basic ${Buffer.from(`launcher:${TOKEN}`).toString("base64")}`,
      TOKEN,
      "Bearer",
      "Bearer  ",
      `Bearer\t${TOKEN}`,
    ]) {
      await refusal(await stand.get("/api/status", { authorization: line }), 401, "unauthorized");
    }
    expect(stand.facts).toEqual([]);
  });

  test("rejects bytes that are not UTF-8", async () => {
    await using stand = await startDashboard();
    await refusal(
      await stand.get("/api/status", { authorization: "Bearer \xff\xfe" }),
      401,
      "invalid_token",
    );
  });
});
