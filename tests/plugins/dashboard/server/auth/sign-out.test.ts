import { describe, expect, test } from "vitest";
import type { AnyPlugin, Plugin } from "../../../../../kernel/index.ts";
import type { Http } from "../../../../../plugins/http/index.ts";
import { memory } from "../../../../../plugins/token-store/index.ts";
import {
  TOKEN,
  block,
  cookieFrom,
  setupBackend,
  isSignedIn,
  rejection,
  setCookieOf,
  signIn,
  startDashboard,
  type DashboardServer,
} from "../../../../support/dashboard-server.ts";

/** Reads the hidden value of the sign-out form on the overview. */
async function csrfOf(server: DashboardServer, headers: { cookie: string }): Promise<string> {
  const [, csrf = ""] =
    /name="csrf" value="([^"]*)"/.exec(await (await server.open("/overview", headers)).text()) ??
    [];
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
    await using server = await startDashboard();
    for (const body of [{}, undefined]) {
      const session = await signIn(server);
      const answer = await server.post("/logout", body, session);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toEqual({ status: "ok" });
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(setCookieOf(answer)).toMatch(cleared);
      expect(await isSignedIn(server, session)).toBe(false);
    }
  });

  test("accepts an empty chunked body with any Content-Type", async () => {
    await using server = await startDashboard();
    for (const type of [null, "application/json", "text/plain"]) {
      const headers = {
        "content-type": type,
        "content-length": null,
        "transfer-encoding": "chunked",
      };
      expect((await server.request("/logout", { method: "POST", headers })).status).toBe(200);
    }
  });

  test("redirects a form to the sign-in page", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    const answer = await server.form("/logout", {}, { ...session, origin: server.origin });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/login"]);
    expect(setCookieOf(answer)).toMatch(cleared);
    expect(await isSignedIn(server, session)).toBe(false);
  });

  test("answers the same without a session", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    for (const headers of [
      session,
      session,
      {},
      { cookie: `service_session_${server.port}=rubbish` },
    ]) {
      expect((await server.post("/logout", {}, headers)).status).toBe(200);
      expect((await server.form("/logout", {}, headers)).status).toBe(303);
    }
    expect(server.facts.filter(({ type }) => type === "dashboard:signed-out")).toHaveLength(1);
  });

  test("ends exactly one session and names it in the event", async () => {
    await using server = await startDashboard();
    const [one, two] = [await signIn(server), await signIn(server)];
    await server.post("/logout", {}, one);
    expect([await isSignedIn(server, one), await isSignedIn(server, two)]).toEqual([false, true]);
    const [first] = server.facts.filter(({ type }) => type === "dashboard:signed-in");
    expect(server.facts.at(-1)).toEqual({
      type: "dashboard:signed-out",
      fact: { signIn: first!.fact["signIn"], reason: "sign-out" },
    });
  });

  test("ends what the session opened and nothing else", async () => {
    const { plugin, ended } = holder();
    await using server = await startDashboard({ plugins: [plugin] });
    const headers = async () => ({ ...(await signIn(server)), origin: server.origin });
    const [one, two] = [await headers(), await headers()];
    await server.get("/hold", one);
    await server.get("/hold", one);
    await server.get("/hold", two);
    expect(ended).toEqual([]);
    await server.post("/logout", {}, one);
    expect(ended).toEqual(["session sign-out", "session sign-out"]);
  });

  test("works during setup and during a block", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    await block(server);
    expect((await server.post("/logout", {}, session)).status).toBe(200);
    await using fresh = await startDashboard({ form: setupBackend() });
    expect((await fresh.post("/logout", {})).status).toBe(200);
  });

  test("answers 405 to GET and HEAD without signing out", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    for (const headers of [session, {}]) {
      const answer = await server.get("/logout", headers);
      expect(answer.headers.get("allow")).toBe("POST");
      await rejection(answer, 405, "method_not_allowed");
      expect((await server.request("/logout", { method: "HEAD", headers })).status).toBe(405);
    }
    expect(await isSignedIn(server, session)).toBe(true);
  });
});

describe("Clear-Site-Data", () => {
  const header = (answer: Response): string | null => answer.headers.get("clear-site-data");

  test("removes only storage at sign-out", async () => {
    await using server = await startDashboard();
    expect(header(await server.post("/logout", {}, await signIn(server)))).toBe('"storage"');
    expect(header(await server.form("/logout", {}, await signIn(server)))).toBe('"storage"');
    const session = await signIn(server);
    const { sessions } = (await (await server.get("/api/sessions", session)).json()) as {
      sessions: { id: string }[];
    };
    const own = `/api/sessions/${sessions[0]!.id}`;
    expect(header(await server.request(own, { method: "DELETE", headers: session }))).toBe(
      '"storage"',
    );
  });

  test("does not occur under a base path, which shares its origin", async () => {
    await using server = await startDashboard({ basePath: "/door" });
    const cookie = cookieFrom(await server.post("/door/login", { token: TOKEN }));
    expect(header(await server.post("/door/logout", {}, { cookie }))).toBeNull();
  });

  test("does not occur in other responses", async () => {
    await using server = await startDashboard();
    for (const path of ["/login", "/", "/api/auth/status", "/assets/none"])
      expect([path, header(await server.open(path))]).toEqual([path, null]);
  });
});

describe("POST /logout with Origin: null", () => {
  test("requires the hidden value of the session", async () => {
    await using server = await startDashboard();
    const [session, other] = [await signIn(server), await signIn(server)];
    const csrf = await csrfOf(server, session);
    for (const fields of [
      {},
      { csrf: "" },
      { csrf: await csrfOf(server, other) },
      { csrf: `${csrf}x` },
      { csrf: csrf.slice(1) },
    ]) {
      await rejection(
        await server.form("/logout", fields as Record<string, string>, {
          ...session,
          origin: "null",
        }),
        403,
        "origin_not_allowed",
      );
    }
    expect(await isSignedIn(server, session)).toBe(true);
    expect((await server.form("/logout", { csrf }, { ...session, origin: "null" })).status).toBe(
      303,
    );
    expect([await isSignedIn(server, session), await isSignedIn(server, other)]).toEqual([
      false,
      true,
    ]);
  });

  test("requires nothing without a session", async () => {
    await using server = await startDashboard();
    expect((await server.form("/logout", {}, { origin: "null" })).status).toBe(303);
  });

  test("rejects everything but a form", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    const csrf = await csrfOf(server, session);
    await rejection(
      await server.post("/logout", { csrf }, { ...session, origin: "null" }),
      403,
      "origin_not_allowed",
    );
    await rejection(
      await server.post("/logout", undefined, { ...session, origin: "null" }),
      403,
      "origin_not_allowed",
    );
    expect(await isSignedIn(server, session)).toBe(true);
  });
});

describe("rotation of the launcher token", () => {
  test("ends every session and what it opened", async () => {
    const { plugin, ended } = holder();
    await using server = await startDashboard({ plugins: [plugin] });
    const session = await signIn(server);
    await server.get("/hold", { ...session, origin: server.origin });
    const { tokenSecrets, tokens } = server.kernel.services;
    await tokenSecrets.replace("launcher", {
      value: "another-token-of-mine",
      expect: tokens.info("launcher").version,
    });
    expect(await isSignedIn(server, session)).toBe(false);
    expect(ended).toEqual(["session rotated"]);
    expect(server.facts.at(-1)).toMatchObject({
      type: "dashboard:signed-out",
      fact: { reason: "rotated" },
    });
    await rejection(await server.post("/login", { token: TOKEN }), 401, "invalid_token");
    expect(await isSignedIn(server, await signIn(server, "another-token-of-mine"))).toBe(true);
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
      await using server = await startDashboard({ form: { ...store, write } });
      const { tokenSecrets } = server.kernel.services;
      const signIns = Array.from({ length: 6 }, () => server.post("/login", { token: TOKEN }));
      await server.get("/healthz");
      await tokenSecrets.replace("launcher", { value: "another-token-of-mine", expect: 1 });
      for (const answer of await Promise.all(signIns)) {
        expect([200, 401]).toContain(answer.status);
        if (answer.status === 200)
          expect(await isSignedIn(server, { cookie: cookieFrom(answer) })).toBe(false);
      }
    }
  });
});

describe("Http.identityOf", () => {
  test("names a sign-in only for this origin and allowed hosts", async () => {
    const { plugin } = holder();
    await using server = await startDashboard({ plugins: [plugin] });
    const { cookie } = await signIn(server);
    const who = async (headers: Record<string, string>): Promise<string> =>
      (await server.get("/hold", { cookie, ...headers })).text();
    expect(await who({ origin: server.origin })).toBe(server.facts[0]!.fact["signIn"]);
    expect(await who({})).toBe("nobody");
    expect(await who({ origin: "null" })).toBe("nobody");
    expect(await who({ origin: "http://evil.example" })).toBe("nobody");
    expect(await who({ origin: `http://localhost:${server.port + 1}` })).toBe("nobody");
    expect(await who({ host: "evil.example", origin: "http://evil.example" })).toBe("nobody");
  });
});
