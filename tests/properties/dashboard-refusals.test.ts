import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memory } from "../../plugins/token-store/index.ts";
import {
  TOKEN,
  setupBackend,
  createLoginLink,
  startDashboard,
  type DashboardServer,
} from "../support/dashboard-server.ts";
import { runs } from "../support/runs.ts";

/** Everything in a response except its time. */
async function bytesOf(answer: Response): Promise<string> {
  const headers = [...answer.headers].filter(([name]) => name !== "date");
  return JSON.stringify([answer.status, headers, await answer.text()]);
}

/** Wrong in many ways: nearly right, of other lengths and alphabets, or in the form of links. */
const wrongToken = fc
  .oneof(
    fc.string({ minLength: 1, maxLength: 300 }),
    fc.string({ unit: "binary", minLength: 1, maxLength: 60 }),
    fc.nat(TOKEN.length - 1).map((length) => TOKEN.slice(0, length + 1)),
    fc.nat(TOKEN.length - 1).map((at) => `${TOKEN.slice(0, at)}~${TOKEN.slice(at + 1)}`),
    fc.string({ minLength: 1 }).map((more) => TOKEN + more),
    fc.string({ minLength: 1 }).map((more) => more + TOKEN),
    fc.base64String({ maxLength: 64 }).map((text) => `ott_${text}`),
    fc.constantFrom(TOKEN.toUpperCase(), "ott_", "x".repeat(43), "x".repeat(2_900)),
  )
  .map((token) => token.toWellFormed())
  .filter((token) => token.trim() !== "" && token.trim() !== TOKEN);

const headerSafe = (token: string): string =>
  Buffer.from(token.trim().replaceAll(/\p{Cc}/gu, "~")).toString("latin1");
const ways: Record<string, (server: DashboardServer, token: string) => Promise<Response>> = {
  "POST /login as JSON": (server, token) => server.post("/login", { token }),
  "POST /login as a form": (server, token) => server.form("/login", { token, next: "/place" }),
  "GET /?token= by a program": (server, token) =>
    server.get(`/?token=${encodeURIComponent(token)}`),
  "Authorization: Bearer": (server, token) =>
    server.get("/api/status", { authorization: `Bearer ${headerSafe(token)}` }),
};

describe("rejections of wrong tokens", () => {
  test.each(Object.keys(ways))("%s", async (name) => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1_000 } });
    const expected = await bytesOf(await ways[name]!(server, "a wrong token"));
    expect(expected).toContain("[401,");
    const spent = createLoginLink(server);
    await server.post("/login", { token: spent });
    expect(await bytesOf(await ways[name]!(server, spent))).toBe(expected);
    await fc.assert(
      fc.asyncProperty(wrongToken, async (token) => {
        expect(await bytesOf(await ways[name]!(server, token))).toBe(expected);
      }),
      { numRuns: runs(120) },
    );
  });

  test("redirect a browser to one address per kind of token", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1_000 } });
    await fc.assert(
      fc.asyncProperty(wrongToken, async (token) => {
        const { status, headers } = await server.open(`/?token=${encodeURIComponent(token)}`);
        const error = token.trim().startsWith("ott_") ? "link_expired" : "invalid_token";
        expect([status, headers.get("location")]).toEqual([302, `/login?error=${error}`]);
      }),
      { numRuns: runs(60) },
    );
  });

  test("have equal responses of POST /setup, as JSON and form", async () => {
    await using server = await startDashboard({
      form: setupBackend(),
      launcher: { login_attempts_per_minute: 1_000 },
    });
    const tries = [
      (code: string) => server.post("/setup", { code, keep: true }),
      (code: string) => server.form("/setup", { code, keep: "true" }),
      (code: string) =>
        server.post("/setup", { code, token: "a-token-of-my-own", confirm: "another" }),
    ];
    for (const attempt of tries) {
      const expected = await bytesOf(await attempt("a wrong code"));
      await fc.assert(
        fc.asyncProperty(wrongToken, async (code) => {
          expect(await bytesOf(await attempt(code))).toBe(expected);
        }),
        { numRuns: runs(60) },
      );
    }
  });

  test("have equal 429 responses, also for short right tokens", async () => {
    const short = "a-right-token-of-my-own";
    await using server = await startDashboard({
      form: memory({ launcher: short }),
      launcher: { login_attempts_per_minute: 1 },
    });
    await server.post("/login", { token: "wrong" });
    for (const [name, way] of Object.entries(ways)) {
      const expected = await bytesOf(await way(server, short));
      expect(expected).toContain("[429,");
      await fc.assert(
        fc.asyncProperty(
          wrongToken.filter((token) => !token.trim().startsWith("ott_")),
          async (token) => {
            expect([name, await bytesOf(await way(server, token))]).toEqual([name, expected]);
          },
        ),
        { numRuns: runs(30) },
      );
    }
  });
});
