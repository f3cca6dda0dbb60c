import { describe, expect, test } from "vitest";
import {
  TOKEN,
  rejection,
  startDashboard,
  wrongToken,
} from "../../../../support/dashboard-server.ts";

describe("POST /login without exactly one token", () => {
  const bodies: [string, string, string][] = [
    ["no token", "application/json", "{}"],
    ["an empty token", "application/json", '{"token":""}'],
    ["blanks", "application/json", '{"token":"  \\n"}'],
    ["a number", "application/json", '{"token":5}'],
    ["a list", "application/json", `{"token":["${TOKEN}"]}`],
    ["a list of the body", "application/json", `["${TOKEN}"]`],
    ["null", "application/json", "null"],
    ["an empty body", "application/json", ""],
    ["the token twice", "application/json", `{"token":"x","token":"${TOKEN}"}`],
    [
      "the token twice, spelled otherwise",
      "application/json",
      `{"token" :"x","to\\u006ben":"${TOKEN}"}`,
    ],
    ["broken JSON", "application/json", `{"token":"${TOKEN}"`],
    ["a prototype", "application/json", `{"__proto__":{"token":"${TOKEN}"}}`],
    ["an empty form", "application/x-www-form-urlencoded", ""],
    ["a form without token", "application/x-www-form-urlencoded", "next=/"],
    ["a form with an empty token", "application/x-www-form-urlencoded", "token="],
    ["a form with the token twice", "application/x-www-form-urlencoded", `token=x&token=${TOKEN}`],
  ];
  test.each(bodies)("answers 400 without counting or logging: %s", async (_, type, body) => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (let time = 0; time < 2; time += 1) {
      const answer = await server.request("/login", {
        method: "POST",
        headers: { "content-type": type, "content-length": String(body.length) },
        body,
      });
      expect(answer.status).toBe(400);
      const text = await answer.text();
      expect(text).not.toContain(TOKEN);
      if (type === "application/json")
        expect(JSON.parse(text)).toMatchObject({ error: "invalid_body" });
      else expect(text).toContain("Enter the launcher token.");
    }
    expect(server.logged()).not.toContain(TOKEN);
    expect(server.facts).toEqual([]);
    await rejection(await server.post("/login", { token: wrongToken(1) }), 401, "invalid_token");
  });

  test("accepts JSON text inside the token as one token", async () => {
    await using server = await startDashboard();
    await rejection(
      await server.post("/login", { token: '{"token":"x","token":"y"}' }),
      401,
      "invalid_token",
    );
  });
});
