import { describe, expect, test } from "vitest";
import type { AnyPlugin, Plugin } from "../../../../kernel/index.ts";
import type { Http } from "../../../../plugins/http/index.ts";
import { memory } from "../../../../plugins/token-store/index.ts";
import {
  TOKEN,
  block,
  cookieFrom,
  inSetup,
  isIn,
  refusal,
  setCookieOf,
  signedIn,
  startDashboard,
  type DashboardStand,
} from "../../../support/dashboard-server.ts";

/** Reads the hidden value of the sign-out form on the overview. */
async function csrfOf(stand: DashboardStand, headers: { cookie: string }): Promise<string> {
  const [, csrf = ""] =
    /name="csrf" value="([^"]*)"/.exec(await (await stand.open("/", headers)).text()) ?? [];
  expect(csrf).not.toBe("");
  return csrf;
}
const cleared = /^service_session_\d+=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/;

/** Opens a resource that ends with the sign-in of its request, as a socket does. */
function holder(): { plugin: AnyPlugin; ended: string[] } {
  const ended: string[] = [];
  const plugin: Plugin<{ needs: { http: Http } }> = {
    name: "holder",
    api: 1,
    needs: { http: true },
    start({ needs: { http } }) {
      http.request("/hold", (request, response) => {
        const who = http.identityOf(request);
        who?.identity.onEnd((reason) => ended.push(`${who.kind} ${reason}`));
        response.end(who ? who.identity.id : "nobody");
      });
    },
  };
  return { plugin: plugin as unknown as AnyPlugin, ended };
}

describe("POST /logout", () => {
  test("ends the session and clears the cookie for JSON and empty bodies", async () => {
    await using stand = await startDashboard();
    for (const body of [{}, undefined]) {
      const session = await signedIn(stand);
      const answer = await stand.post("/logout", body, session);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toEqual({ status: "ok" });
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(setCookieOf(answer)).toMatch(cleared);
      expect(await isIn(stand, session)).toBe(false);
    }
  });

  test("accepts an announced empty body of any type", async () => {
    await using stand = await startDashboard();
    for (const type of [null, "application/json", "text/plain"]) {
      const headers = {
        "content-type": type,
        "content-length": null,
        "transfer-encoding": "chunked",
      };
      expect((await stand.request("/logout", { method: "POST", headers })).status).toBe(200);
    }
  });

  test("redirects a form to the sign-in page", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    const answer = await stand.form("/logout", {}, { ...session, origin: stand.origin });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/login"]);
    expect(setCookieOf(answer)).toMatch(cleared);
    expect(await isIn(stand, session)).toBe(false);
  });

  test("answers the same without a session", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    for (const headers of [
      session,
      session,
      {},
      { cookie: `service_session_${stand.port}=rubbish` },
    ]) {
      expect((await stand.post("/logout", {}, headers)).status).toBe(200);
      expect((await stand.form("/logout", {}, headers)).status).toBe(303);
    }
    expect(stand.facts.filter(({ type }) => type === "dashboard:signed-out")).toHaveLength(1);
  });

  test("ends exactly one session and names it in the event", async () => {
    await using stand = await startDashboard();
    const [one, two] = [await signedIn(stand), await signedIn(stand)];
    await stand.post("/logout", {}, one);
    expect([await isIn(stand, one), await isIn(stand, two)]).toEqual([false, true]);
    const [first] = stand.facts.filter(({ type }) => type === "dashboard:signed-in");
    expect(stand.facts.at(-1)).toEqual({
      type: "dashboard:signed-out",
      fact: { signIn: first!.fact["signIn"], reason: "sign-out" },
    });
  });

  test("ends what the session opened and nothing else", async () => {
    const { plugin, ended } = holder();
    await using stand = await startDashboard({ plugins: [plugin] });
    const headers = async () => ({ ...(await signedIn(stand)), origin: stand.origin });
    const [one, two] = [await headers(), await headers()];
    await stand.get("/hold", one);
    await stand.get("/hold", one);
    await stand.get("/hold", two);
    expect(ended).toEqual([]);
    await stand.post("/logout", {}, one);
    expect(ended).toEqual(["session sign-out", "session sign-out"]);
  });

  test("works during setup and during a block", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    await block(stand);
    expect((await stand.post("/logout", {}, session)).status).toBe(200);
    await using fresh = await startDashboard({ form: inSetup() });
    expect((await fresh.post("/logout", {})).status).toBe(200);
  });

  test("answers 405 to GET and HEAD without signing out", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    for (const headers of [session, {}]) {
      const answer = await stand.get("/logout", headers);
      expect(answer.headers.get("allow")).toBe("POST");
      await refusal(answer, 405, "method_not_allowed");
      expect((await stand.request("/logout", { method: "HEAD", headers })).status).toBe(405);
    }
    expect(await isIn(stand, session)).toBe(true);
  });
});

describe("Clear-Site-Data", () => {
  const header = (answer: Response): string | null => answer.headers.get("clear-site-data");

  test("removes only storage at sign-out", async () => {
    await using stand = await startDashboard();
    expect(header(await stand.post("/logout", {}, await signedIn(stand)))).toBe('"storage"');
    expect(header(await stand.form("/logout", {}, await signedIn(stand)))).toBe('"storage"');
    const session = await signedIn(stand);
    const { sessions } = (await (await stand.get("/api/sessions", session)).json()) as {
      sessions: { id: string }[];
    };
    const own = `/api/sessions/${sessions[0]!.id}`;
    expect(header(await stand.request(own, { method: "DELETE", headers: session }))).toBe(
      '"storage"',
    );
  });

  test("does not occur under a base path, which shares its origin", async () => {
    await using stand = await startDashboard({ basePath: "/door" });
    const cookie = cookieFrom(await stand.post("/door/login", { token: TOKEN }));
    expect(header(await stand.post("/door/logout", {}, { cookie }))).toBeNull();
  });

  test("does not occur in other responses", async () => {
    await using stand = await startDashboard();
    for (const path of ["/login", "/", "/api/auth/status", "/assets/none"])
      expect([path, header(await stand.open(path))]).toEqual([path, null]);
  });
});

describe("POST /logout with Origin: null", () => {
  test("requires the hidden value of the session", async () => {
    await using stand = await startDashboard();
    const [session, other] = [await signedIn(stand), await signedIn(stand)];
    const csrf = await csrfOf(stand, session);
    for (const fields of [
      {},
      { csrf: "" },
      { csrf: await csrfOf(stand, other) },
      { csrf: `${csrf}x` },
      { csrf: csrf.slice(1) },
    ]) {
      await refusal(
        await stand.form("/logout", fields as Record<string, string>, {
          ...session,
          origin: "null",
        }),
        403,
        "origin_not_allowed",
      );
    }
    expect(await isIn(stand, session)).toBe(true);
    expect((await stand.form("/logout", { csrf }, { ...session, origin: "null" })).status).toBe(
      303,
    );
    expect([await isIn(stand, session), await isIn(stand, other)]).toEqual([false, true]);
  });

  test("requires nothing without a session", async () => {
    await using stand = await startDashboard();
    expect((await stand.form("/logout", {}, { origin: "null" })).status).toBe(303);
  });

  test("rejects everything but a form", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    const csrf = await csrfOf(stand, session);
    await refusal(
      await stand.post("/logout", { csrf }, { ...session, origin: "null" }),
      403,
      "origin_not_allowed",
    );
    await refusal(
      await stand.post("/logout", undefined, { ...session, origin: "null" }),
      403,
      "origin_not_allowed",
    );
    expect(await isIn(stand, session)).toBe(true);
  });
});

describe("rotation of the launcher token", () => {
  test("ends every session and what it opened", async () => {
    const { plugin, ended } = holder();
    await using stand = await startDashboard({ plugins: [plugin] });
    const session = await signedIn(stand);
    await stand.get("/hold", { ...session, origin: stand.origin });
    const { tokenSecrets, tokens } = stand.kernel.services;
    await tokenSecrets.replace("launcher", {
      value: "another-token-of-mine",
      expect: tokens.info("launcher").version,
    });
    expect(await isIn(stand, session)).toBe(false);
    expect(ended).toEqual(["session rotated"]);
    expect(stand.facts.at(-1)).toMatchObject({
      type: "dashboard:signed-out",
      fact: { reason: "rotated" },
    });
    await refusal(await stand.post("/login", { token: TOKEN }), 401, "invalid_token");
    expect(await isIn(stand, await signedIn(stand, "another-token-of-mine"))).toBe(true);
  });
});

describe("sign-in during a rotation", () => {
  test("leaves no session of the old token", async () => {
    for (let turns = 0; turns < 12; turns += 1) {
      const store = memory({ launcher: TOKEN });
      const write = async (...given: Parameters<typeof store.write>): Promise<void> => {
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        await store.write(...given);
      };
      await using stand = await startDashboard({ form: { ...store, write } });
      const { tokenSecrets } = stand.kernel.services;
      const signIns = Array.from({ length: 6 }, () => stand.post("/login", { token: TOKEN }));
      await stand.get("/healthz");
      await tokenSecrets.replace("launcher", { value: "another-token-of-mine", expect: 1 });
      for (const answer of await Promise.all(signIns)) {
        expect([200, 401]).toContain(answer.status);
        if (answer.status === 200)
          expect(await isIn(stand, { cookie: cookieFrom(answer) })).toBe(false);
      }
    }
  });
});

describe("Http.identityOf", () => {
  test("names a sign-in only for this origin and allowed hosts", async () => {
    const { plugin } = holder();
    await using stand = await startDashboard({ plugins: [plugin] });
    const { cookie } = await signedIn(stand);
    const who = async (headers: Record<string, string>): Promise<string> =>
      (await stand.get("/hold", { cookie, ...headers })).text();
    expect(await who({ origin: stand.origin })).toBe(stand.facts[0]!.fact["signIn"]);
    expect(await who({})).toBe("nobody");
    expect(await who({ origin: "null" })).toBe("nobody");
    expect(await who({ origin: "http://evil.example" })).toBe("nobody");
    expect(await who({ origin: `http://localhost:${stand.port + 1}` })).toBe("nobody");
    expect(await who({ host: "evil.example", origin: "http://evil.example" })).toBe("nobody");
  });
});
