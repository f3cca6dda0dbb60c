import { describe, expect, test } from "vitest";
import {
  isSignedIn,
  setCookieOf,
  signIn,
  wrongToken,
} from "../../../../support/dashboard-server.ts";
import { TOKEN, withApi } from "../../../../support/api-client.ts";

const typed = { current: TOKEN };

describe("/api/sessions", () => {
  test("lists sign-ins, newest first, and marks the current one", () =>
    withApi(async (office) => {
      office.clock.increment(5_000);
      await signIn(office);
      const { body } = await office.ask("GET", "/api/sessions");
      expect(body.sessions).toEqual([
        expect.objectContaining({ current: false, createdAt: office.clock.now() }),
        expect.objectContaining({
          current: true,
          id: expect.stringMatching(/^[0-9a-f]{8}$/),
          address: "127.0.0.1",
          lastUsedAt: office.clock.now(),
          expiresAt: office.clock.now() - 5_000 + 7 * 86_400_000,
        }),
      ]);
    }));

  test("ends a sign-in by its id and answers 404 otherwise", () =>
    withApi(async (office) => {
      const other = await signIn(office);
      const [{ id }] = (await office.ask("GET", "/api/sessions")).body.sessions;
      expect((await office.ask("DELETE", `/api/sessions/${id}`, typed)).status).toBe(200);
      expect(await isSignedIn(office, other)).toBe(false);
      expect(await isSignedIn(office, office.session)).toBe(true);
      expect(await office.ask("DELETE", `/api/sessions/${id}`)).toMatchObject({
        status: 404,
        body: { error: "not_found" },
      });
      expect(office.facts.at(-1)).toMatchObject({
        type: "dashboard:signed-out",
        fact: { signIn: id, reason: "revoked" },
      });
    }));

  test("ends the current sign-in and clears its cookie", () =>
    withApi(async (office) => {
      const [{ id }] = (await office.ask("GET", "/api/sessions")).body.sessions;
      const { headers } = await office.ask("DELETE", `/api/sessions/${id}`);
      expect(setCookieOf(new Response(null, { headers }))).toMatch(/Max-Age=0/);
      expect(await isSignedIn(office, office.session)).toBe(false);
    }));

  test("ends all other sign-ins", () =>
    withApi(async (office) => {
      const others = [await signIn(office), await signIn(office)];
      expect(await office.ask("DELETE", "/api/sessions", typed)).toMatchObject({
        status: 200,
        body: { ended: 2 },
      });
      for (const other of others) expect(await isSignedIn(office, other)).toBe(false);
      expect(await isSignedIn(office, office.session)).toBe(true);
    }));

  test.each(["/api/sessions", "/api/sessions/:other"])(
    "requires the launcher token from a signed-in browser: DELETE %s",
    (path) =>
      withApi(async (office) => {
        const other = await signIn(office);
        const [{ id }] = (await office.ask("GET", "/api/sessions")).body.sessions;
        const address = path.replace(":other", id);
        for (const body of [undefined, {}, { current: "" }, { current: 5 }]) {
          expect(await office.ask("DELETE", address, body)).toMatchObject({
            status: 400,
            body: { error: "invalid_body" },
          });
        }
        expect(await office.ask("DELETE", address, { current: wrongToken(1) })).toMatchObject({
          status: 403,
          body: { error: "invalid_token" },
        });
        expect(office.lines.filter(({ via }) => via === "current")).toHaveLength(1);
        expect([await isSignedIn(office, other), await isSignedIn(office, office.session)]).toEqual(
          [true, true],
        );
        expect((await office.ask("DELETE", address, typed)).status).toBe(200);
        expect(await isSignedIn(office, other)).toBe(false);
      }),
  );

  test("accepts a Bearer without the token in the body", () =>
    withApi(async (office) => {
      const bearer = { authorization: `Bearer ${TOKEN}` };
      expect(await office.ask("DELETE", "/api/sessions", undefined, bearer)).toMatchObject({
        status: 200,
        body: { ended: 1 },
      });
      expect(await isSignedIn(office, office.session)).toBe(false);
    }));
});

describe("/api/signin-links", () => {
  test("cancels the links of the requester", () =>
    withApi(async (office) => {
      const make = async (): Promise<string> => {
        const { body } = await office.ask("POST", "/api/signin-links");
        return new URL(String(body.url)).searchParams.get("link")!;
      };
      const login = (token: string) =>
        office.ask("POST", "/login", { token }, { "content-type": "application/json" });
      const [used, cancelled] = [await make(), await make()];
      expect((await login(used)).status).toBe(200);
      expect((await office.ask("DELETE", "/api/signin-links")).status).toBe(200);
      expect((await login(cancelled)).status).toBe(401);
    }));
});
