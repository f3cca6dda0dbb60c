import { describe, expect, test } from "vitest";
import {
  TOKEN,
  block,
  setupBackend,
  rejection,
  startDashboard,
  wrongToken,
} from "../../../../support/dashboard-server.ts";

const CHOSEN = "a-token-of-my-own";
const choosing = (code: string, token = CHOSEN) => ({ code, token, confirm: token });
describe("POST /setup with invalid input", () => {
  test("answers 401 without a code and does not count it", async () => {
    await using server = await startDashboard({
      form: setupBackend(),
      launcher: { login_attempts_per_minute: 1 },
    });
    for (const code of [{}, { code: "" }, { code: " " }]) {
      const answer = await server.post("/setup", { ...code, keep: true });
      expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="launcher"');
      await rejection(answer, 401, "invalid_code");
    }
    await rejection(
      await server.post("/setup", { code: wrongToken(1), keep: true }),
      401,
      "invalid_code",
    );
    await rejection(
      await server.post("/setup", { code: wrongToken(2), keep: true }),
      429,
      "rate_limited",
    );
  });

  test("counts a wrong code and shows a message to forms", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    await rejection(await server.post("/setup", choosing(wrongToken(1))), 401, "invalid_code");
    const page = await server.form("/setup", { code: wrongToken(2), keep: "true" });
    expect(page.status).toBe(401);
    const text = await page.text();
    expect(text).toContain("That is not the generated token");
    expect(text).not.toContain(wrongToken(2));
    expect(server.lines.filter(({ level }) => level === "warn")).toMatchObject([
      { reason: "invalid_code", ip: "127.0.0.1", via: "setup", count: 1 },
      { reason: "invalid_code", ip: "127.0.0.1", via: "setup", count: 2 },
    ]);
  });

  test("answers 429 during a block and shows forms a countdown", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    await block(server);
    const answer = await server.post("/setup", choosing(wrongToken(1)));
    expect(answer.headers.get("retry-after")).toBe("60");
    await rejection(answer, 429, "rate_limited");
    const page = await server.form("/setup", { code: wrongToken(1), keep: "true" });
    expect([page.status, page.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(await page.text()).toContain('data-countdown="60"');
    expect((await server.post("/setup", choosing(TOKEN))).status).toBe(200);
  });

  test("answers 422 if the two tokens differ", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const fields = { code: TOKEN, token: CHOSEN, confirm: `${CHOSEN}!` };
    await rejection(await server.post("/setup", fields), 422, "token_mismatch");
    const page = await server.form("/setup", fields);
    expect(page.status).toBe(422);
    const text = await page.text();
    expect(text).toContain("differ");
    expect(text).not.toContain(CHOSEN);
    expect(server.kernel.state()).toBe("setup");
  });

  test.each([
    ["short", "x".repeat(8) + "y".repeat(7)],
    ["long", "xy".repeat(129)],
    ["spaced", "my token of my own"],
    ["not ASCII", "schlüssel-zur-tür"],
    ["one character repeated", "x".repeat(20)],
    ["like a link", "ott_0123456789abcdef"],
    ["with a control character", "token-of\u0007-my-own"],
    ["empty", ""],
  ])("answers 422 weak_token to a token that is %s", async (_, token) => {
    await using server = await startDashboard({ form: setupBackend() });
    await rejection(await server.post("/setup", choosing(TOKEN, token)), 422, "weak_token");
    const page = await server.form("/setup", choosing(TOKEN, token));
    expect(page.status).toBe(422);
    if (token !== "") expect(await page.text()).not.toContain(token);
    expect(server.kernel.state()).toBe("setup");
    expect((await server.post("/login", { token: TOKEN })).status).toBe(409);
  });

  test.each([
    "x".repeat(8) + "y".repeat(8),
    "xy".repeat(128),
    "!#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\"",
  ])("accepts a token of 16 to 256 printable characters: %s", async (token) => {
    await using server = await startDashboard({ form: setupBackend() });
    expect((await server.post("/setup", choosing(TOKEN, token))).status).toBe(200);
    expect((await server.post("/login", { token })).status).toBe(200);
  });

  test("answers 400 to an invalid body without comparing tokens", async () => {
    await using server = await startDashboard({
      form: setupBackend(),
      launcher: { login_attempts_per_minute: 1 },
    });
    for (const body of [
      {},
      { code: TOKEN },
      { code: TOKEN, keep: false },
      { code: TOKEN, token: CHOSEN },
      { code: 5, keep: true },
      [],
      "x",
    ]) {
      await rejection(await server.post("/setup", body), 400, "invalid_body");
    }
    const twice = await server.form("/setup", `code=${wrongToken(1)}&code=${TOKEN}&keep=true`);
    expect(twice.status).toBe(400);
    expect(server.kernel.state()).toBe("setup");
    await rejection(await server.post("/setup", choosing(wrongToken(1))), 401, "invalid_code");
  });
});
