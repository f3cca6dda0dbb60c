import { describe, expect, test } from "vitest";
import {
  TOKEN,
  isSignedIn,
  rejection,
  signIn,
  startDashboard,
  wrongToken,
} from "../../../../support/dashboard-server.ts";

describe("Authorization: Bearer", () => {
  test("opens the API and sets no cookie", async () => {
    await using server = await startDashboard();
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      const answer = await server.get("/api/status", { authorization: `${scheme} ${TOKEN}` });
      expect(answer.status).toBe(200);
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
    expect(server.facts).toEqual([]);
  });

  test("answers 401 to a wrong token despite a valid cookie", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 2 } });
    const session = await signIn(server);
    await rejection(
      await server.get("/api/status", { authorization: `Bearer ${wrongToken(1)}` }),
      401,
      "invalid_token",
    );
    await rejection(
      await server.get("/api/status", { authorization: `Bearer ${wrongToken(2)}`, ...session }),
      401,
      "invalid_token",
    );
    await rejection(
      await server.get("/api/status", { authorization: `Bearer ${wrongToken(3)}` }),
      429,
      "rate_limited",
    );
    expect(await isSignedIn(server, session)).toBe(true);
  });

  test("leaves a valid cookie unchanged", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    for (const token of [TOKEN, wrongToken(1)]) {
      const answer = await server.get("/api/status", {
        authorization: `Bearer ${token}`,
        ...session,
      });
      expect(answer.headers.getSetCookie()).toEqual([]);
    }
  });

  test("answers 400 without comparison if it is repeated", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (const lines of [
      [`Bearer ${wrongToken(1)}`, `Bearer ${wrongToken(2)}`],
      [`Bearer ${TOKEN}`, `Bearer ${wrongToken(1)}`],
    ]) {
      expect((await server.get("/api/status", { authorization: lines })).status).toBe(400);
    }
    await rejection(await server.post("/login", { token: wrongToken(9) }), 401, "invalid_token");
  });

  test("opens no page", async () => {
    await using server = await startDashboard();
    expect((await server.open("/", { authorization: `Bearer ${TOKEN}` })).status).toBe(302);
    await rejection(
      await server.get("/", { authorization: `Bearer ${TOKEN}` }),
      401,
      "unauthorized",
    );
  });

  test("ignores other schemes and empty values", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (const line of [
      `Basic ${Buffer.from(`launcher:${TOKEN}`).toString("base64")}`,
      TOKEN,
      "Bearer",
      "Bearer  ",
      `Bearer\t${TOKEN}`,
    ]) {
      await rejection(
        await server.get("/api/status", { authorization: line }),
        401,
        "unauthorized",
      );
    }
    expect(server.facts).toEqual([]);
  });

  test("rejects bytes that are not UTF-8", async () => {
    await using server = await startDashboard();
    await rejection(
      await server.get("/api/status", { authorization: "Bearer \xff\xfe" }),
      401,
      "invalid_token",
    );
  });
});
