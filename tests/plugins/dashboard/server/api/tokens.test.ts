import { readFile, rm, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  cookieFrom,
  isSignedIn,
  signIn,
  wrongToken,
} from "../../../../support/dashboard-server.ts";
import { PICO, TOKEN, withApi } from "../../../../support/api-client.ts";

const CHOSEN = "chosen-by-the-owner-0123456789-abcdefghijklm";

describe("GET /api/tokens", () => {
  test("lists the source of each claimed token without its value", () =>
    withApi(async ({ ask }) => {
      const { status, body } = await ask("GET", "/api/tokens");
      expect(status).toBe(200);
      expect(body).toEqual({
        tokens: [
          {
            name: "launcher",
            source: "config",
            managedByEnv: false,
            variable: "SERVICE_LAUNCHER_TOKEN",
            changedAt: expect.any(Number),
            others: [],
          },
          {
            name: "pico",
            source: "security",
            managedByEnv: false,
            variable: "SERVICE_CHANNELS_PICO_TOKEN",
            changedAt: expect.any(Number),
            others: [],
          },
        ],
      });
    }));
});

describe("POST /api/token/rotate", () => {
  test("rotates the launcher token and renews the requesting session", () =>
    withApi(async (office) => {
      const other = await signIn(office);
      const { status, headers, body } = await office.ask("POST", "/api/token/rotate", {
        which: "launcher",
        current: TOKEN,
      });
      expect(status).toBe(200);
      expect(body).toEqual({
        which: "launcher",
        source: "config",
        token: expect.stringMatching(/^[\w-]{43}$/),
      });
      expect(await isSignedIn(office, other)).toBe(false);
      expect(await isSignedIn(office, office.session)).toBe(false);
      expect(
        await isSignedIn(office, { cookie: cookieFrom(new Response(null, { headers })) }),
      ).toBe(true);
      const stored = JSON.parse(
        await readFile(join(office.home, "launcher-config.json"), "utf8"),
      ) as Record<string, unknown>;
      expect(stored["launcher_token"]).toBe(body.token);
      expect(await isSignedIn(office, { authorization: `Bearer ${body.token}` })).toBe(true);
      expect(await isSignedIn(office, { authorization: `Bearer ${TOKEN}` })).toBe(false);
    }));

  test("sets no cookie for a program", () =>
    withApi(async ({ ask }) => {
      const asked = await ask(
        "POST",
        "/api/token/rotate",
        { which: "launcher", current: TOKEN, token: CHOSEN },
        {
          authorization: `Bearer ${TOKEN}`,
        },
      );
      expect(asked.body).toMatchObject({ token: CHOSEN });
      expect(asked.headers.getSetCookie()).toEqual([]);
    }));

  test("generates and stores 64 hex digits for the channel", () =>
    withApi(async (office) => {
      const { body } = await office.ask("POST", "/api/token/rotate", {
        which: "pico",
        current: TOKEN,
        grace: 60,
      });
      expect(body).toEqual({
        which: "pico",
        source: "security",
        token: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
      expect(await readFile(join(office.home, ".security.yml"), "utf8")).toContain(body.token);
      expect(await isSignedIn(office, office.session)).toBe(true);
      expect(office.logged()).not.toContain(body.token);
    }));

  test("requires the launcher token and counts wrong ones", () =>
    withApi(async (office) => {
      expect(await office.ask("POST", "/api/token/rotate", { which: "pico" })).toMatchObject({
        status: 400,
        body: { error: "invalid_body" },
      });
      expect(
        await office.ask("POST", "/api/token/rotate", { which: "pico", current: wrongToken(1) }),
      ).toMatchObject({
        status: 403,
        body: { error: "invalid_token" },
      });
      expect(office.facts.filter(({ type }) => type === "dashboard:sign-in-refused")).toHaveLength(
        1,
      );
      expect(await office.kernel.services.tokens.verify("pico", PICO)).not.toBe(false);
    }));

  test.each([
    [{ which: "pico", token: "short", current: TOKEN }, 422, "weak_token"],
    [{ which: "metrics", current: TOKEN }, 400, "invalid_body"],
    [{ which: "pico", grace: 3_601, current: TOKEN }, 400, "invalid_body"],
  ])("rejects %j", (body, status, error) =>
    withApi(async ({ ask }) => {
      expect(await ask("POST", "/api/token/rotate", body)).toMatchObject({
        status,
        body: { error },
      });
    }),
  );

  test("answers 409 for a token from the environment", () =>
    withApi(
      async ({ ask }) => {
        expect(
          await ask("POST", "/api/token/rotate", { which: "pico", current: TOKEN }),
        ).toMatchObject({
          status: 409,
          body: {
            error: "token_managed_by_env",
            message: expect.stringContaining("SERVICE_CHANNELS_PICO_TOKEN"),
          },
        });
      },
      { env: { SERVICE_CHANNELS_PICO_TOKEN: PICO } },
    ));

  test("accepts one of two parallel requests", () =>
    withApi(async ({ ask }) => {
      const body = { which: "pico", current: TOKEN };
      const answers = await Promise.all([
        ask("POST", "/api/token/rotate", body),
        ask("POST", "/api/token/rotate", body),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
      expect(answers.find(({ status }) => status === 409)?.body.error).toBe("rotation_in_progress");
    }));

  test("keeps the old token and answers 503 if a write fails", () =>
    withApi(async ({ ask, home, kernel }) => {
      await rm(home, { recursive: true });
      await writeFile(home, "in the way");
      try {
        expect(
          await ask("POST", "/api/token/rotate", { which: "pico", current: TOKEN }),
        ).toMatchObject({
          status: 503,
          body: { error: "store_unavailable" },
        });
        expect(await kernel.services.tokens.verify("pico", PICO)).not.toBe(false);
      } finally {
        await rm(home);
        await mkdir(home);
      }
    }));
});

describe("POST /api/token/reveal", () => {
  test("shows the channel token and logs that without the value", () =>
    withApi(async (office) => {
      const asked = await office.ask("POST", "/api/token/reveal", {
        which: "pico",
        current: TOKEN,
      });
      expect(asked).toMatchObject({ status: 200, body: { token: PICO } });
      expect(asked.headers.get("cache-control")).toBe("no-store");
      expect(
        office.lines.some(({ text }) => text === "the pico token was shown in the dashboard"),
      ).toBe(true);
      expect(office.logged()).not.toContain(PICO);
    }));

  test("never shows the launcher token", () =>
    withApi(async ({ ask }) => {
      expect(
        await ask("POST", "/api/token/reveal", { which: "launcher", current: TOKEN }),
      ).toMatchObject({ status: 400 });
      expect(
        await ask("POST", "/api/token/reveal", { which: "pico", current: "not-the-token" }),
      ).toMatchObject({ status: 403 });
    }));
});
