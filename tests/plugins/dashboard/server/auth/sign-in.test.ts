import { describe, expect, test } from "vitest";
import { memory } from "../../../../../plugins/token-store/index.ts";
import {
  START_TIME,
  DAY,
  TOKEN,
  block,
  cookieFrom,
  setupBackend,
  isSignedIn,
  createLoginLink,
  rejection,
  setCookieOf,
  signIn,
  startDashboard,
  wrongToken,
} from "../../../../support/dashboard-server.ts";

const unauthorized = 'Bearer realm="launcher"';

describe("protected page", () => {
  test("redirects to sign-in with the current address but no token", async () => {
    await using server = await startDashboard();
    const answer = await server.open("/nowhere?a=1&token=abc&b=2");
    expect(answer.status).toBe(302);
    expect(answer.headers.get("location")).toBe(
      `/login?next=${encodeURIComponent("/nowhere?a=1&b=2")}`,
    );
    expect((await server.open("/")).headers.get("location")).toBe("/login?next=%2F");
  });

  test("answers 401 unauthorized to a program", async () => {
    await using server = await startDashboard();
    for (const path of ["/", "/api/status", "/nowhere", "/api/nowhere"]) {
      const answer = await server.get(path);
      expect(answer.headers.get("www-authenticate")).toBe(unauthorized);
      await rejection(answer, 401, "unauthorized");
    }
    await rejection(await server.open("/api/status"), 401, "unauthorized");
  });

  test("clears a cookie without a session", async () => {
    await using server = await startDashboard();
    const { cookie } = await signIn(server);
    const [name] = cookie.split("=");
    for (const answer of [
      await server.open("/", { cookie: `${cookie}x` }),
      await server.get("/api/status", { cookie: `${name}=rubbish` }),
      await server.open("/login", { cookie: `${name}=rubbish` }),
    ]) {
      expect(setCookieOf(answer)).toMatch(
        new RegExp(`^${name}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax$`),
      );
    }
    expect(setCookieOf(await server.open("/"))).toBeUndefined();
  });

  test("redirects browsers to /setup and rejects programs during setup", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const answer = await server.open("/");
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "/setup"]);
    const body = await rejection(await server.get("/api/status"), 403, "setup_required");
    expect(body["hint"]).toBe("/setup");
    await rejection(
      await server.get("/api/status", { authorization: `Bearer ${TOKEN}` }),
      403,
      "setup_required",
    );
  });
});

describe("GET /login", () => {
  test("shows a form without a session", async () => {
    await using server = await startDashboard();
    const answer = await server.open("/login?next=%2Fplace%3Fa%3D1");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(await answer.text()).toContain('name="next" value="/place?a=1"');
    expect((await server.request("/login", { method: "HEAD" })).status).toBe(200);
  });

  test("redirects to a safe next path with a session", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    const to = async (query: string): Promise<[number, string | null]> => {
      const answer = await server.open(`/login${query}`, session);
      return [answer.status, answer.headers.get("location")];
    };
    expect(await to("")).toEqual([303, "/"]);
    expect(await to("?next=/place%3Fa%3D1")).toEqual([303, "/place?a=1"]);
    expect(await to("?next=//evil.example")).toEqual([303, "/"]);
    expect(await to("?next=/a&next=/b")).toEqual([303, "/"]);
  });

  test("redirects to /setup during setup", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const answer = await server.open("/login");
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "/setup"]);
  });

  test("never repeats a token or an external next path", async () => {
    await using server = await startDashboard();
    const answer = await server.open(`/login?token=${TOKEN}&next=https%3A%2F%2Fevil.example%2F`);
    const text = await answer.text();
    expect(text).not.toContain(TOKEN);
    expect(text).not.toContain("evil.example");
  });
});

describe("POST /login with the correct token", () => {
  test("returns the expiry and sets a session cookie for JSON", async () => {
    await using server = await startDashboard();
    const answer = await server.post("/login", { token: TOKEN });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      status: "ok",
      expiresAt: new Date(START_TIME + 7 * DAY).toISOString(),
    });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(await isSignedIn(server, { cookie: cookieFrom(answer) })).toBe(true);
  });

  test("redirects a form to a safe next path", async () => {
    await using server = await startDashboard();
    const to = async (next?: string): Promise<string | null> => {
      const answer = await server.form("/login", {
        token: TOKEN,
        ...(next === undefined ? {} : { next }),
      });
      expect(answer.status).toBe(303);
      expect(await isSignedIn(server, { cookie: cookieFrom(answer) })).toBe(true);
      return answer.headers.get("location");
    };
    expect(await to()).toBe("/");
    expect(await to("/place?a=1")).toBe("/place?a=1");
    expect(await to("https://evil.example/")).toBe("/");
  });

  test("trims white space around the token", async () => {
    await using server = await startDashboard();
    expect((await server.post("/login", { token: ` ${TOKEN}\r\n` })).status).toBe(200);
    expect((await server.form("/login", { token: `\t${TOKEN}\n` })).status).toBe(303);
  });

  test("accepts a token of any characters", async () => {
    const token = 'ключ от двери & + % 🔑 "quoted"';
    await using server = await startDashboard({ form: memory({ launcher: token }) });
    expect((await server.post("/login", { token })).status).toBe(200);
    expect((await server.form("/login", { token })).status).toBe(303);
    expect((await server.open(`/?token=${encodeURIComponent(token)}`)).status).toBe(303);
    const latin1 = Buffer.from(token).toString("latin1");
    expect((await server.get("/api/status", { authorization: `Bearer ${latin1}` })).status).toBe(
      200,
    );
  });

  test("emits one event and one log line without secrets", async () => {
    await using server = await startDashboard();
    const { cookie } = await signIn(server);
    expect(server.facts).toEqual([
      {
        type: "dashboard:signed-in",
        fact: { signIn: expect.stringMatching(/^[0-9a-f]{8}$/), address: "127.0.0.1", via: "form" },
      },
    ]);
    expect(server.lines.filter(({ text }) => text === "signed in")).toHaveLength(1);
    expect(server.logged()).not.toContain(cookie.split("=")[1]!.slice(0, 20));
  });
});

describe("POST /login with a one-time link", () => {
  test("signs in once, by JSON or form", async () => {
    await using server = await startDashboard();
    const link = createLoginLink(server);
    expect(
      await isSignedIn(server, {
        cookie: cookieFrom(await server.form("/login", { token: link })),
      }),
    ).toBe(true);
    expect((await server.form("/login", { token: link })).status).toBe(401);
    const other = createLoginLink(server);
    expect((await server.post("/login", { token: other })).status).toBe(200);
    await rejection(await server.post("/login", { token: other }), 401, "invalid_token");
  });

  test("works during a block", async () => {
    await using server = await startDashboard();
    await block(server);
    expect((await server.post("/login", { token: createLoginLink(server) })).status).toBe(200);
  });
});

describe("POST /login with a wrong token", () => {
  test("answers 401 invalid_token to JSON", async () => {
    await using server = await startDashboard();
    const answer = await server.post("/login", { token: wrongToken(1) });
    expect(answer.headers.get("www-authenticate")).toBe(unauthorized);
    expect(setCookieOf(answer)).toBeUndefined();
    await rejection(answer, 401, "invalid_token");
  });

  test("shows forms a message, keeps next and hides the token", async () => {
    await using server = await startDashboard();
    const answer = await server.form("/login", { token: wrongToken(1), next: "/place" });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe(unauthorized);
    const text = await answer.text();
    expect(text).toContain("That is not the launcher token");
    expect(text).toContain('name="next" value="/place"');
    expect(text).not.toContain(wrongToken(1));
  });

  test("keeps a live session", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    for (const way of ["post", "form"] as const) {
      const answer = await server[way]("/login", { token: wrongToken(1) }, session);
      expect([answer.status, answer.headers.getSetCookie()]).toEqual([401, []]);
    }
    expect(await isSignedIn(server, session)).toBe(true);
  });

  test("answers identically to redeemed links, invented links and wrong tokens", async () => {
    await using server = await startDashboard();
    const spent = createLoginLink(server);
    await server.post("/login", { token: spent });
    for (const kind of ["post", "form"] as const) {
      const bodies = new Set<string>();
      for (const token of [
        spent,
        `ott_${"x".repeat(43)}`,
        wrongToken(1),
        TOKEN.slice(1),
        `${TOKEN}x`,
        "x".repeat(43),
      ]) {
        const answer = await server[kind]("/login", { token });
        bodies.add(`${answer.status} ${await answer.text()}`);
      }
      expect(bodies.size).toBe(1);
    }
  });

  test("emits an event with method and address", async () => {
    await using server = await startDashboard();
    await server.post("/login", { token: wrongToken(1) });
    expect(server.facts).toEqual([
      {
        type: "dashboard:sign-in-refused",
        fact: { code: "invalid_token", address: "127.0.0.1", via: "form" },
      },
    ]);
  });
});

describe("POST /login during a block", () => {
  test("answers 429 with Retry-After to JSON", async () => {
    await using server = await startDashboard();
    await block(server);
    server.clock.increment(15_000);
    const answer = await server.post("/login", { token: wrongToken(1) });
    expect(answer.headers.get("retry-after")).toBe("45");
    expect((await rejection(answer, 429, "rate_limited"))["retryAfterSeconds"]).toBe(45);
  });

  test("shows forms a countdown", async () => {
    await using server = await startDashboard();
    await block(server);
    const answer = await server.form("/login", { token: wrongToken(1) });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(await answer.text()).toContain('data-countdown="60"');
    expect(await (await server.open("/login?error=rate_limited")).text()).toContain(
      'data-countdown="60"',
    );
  });
});

describe("POST /login during setup", () => {
  test("sets the setup cookie for the generated token", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const json = await server.post("/login", { token: TOKEN });
    expect(setCookieOf(json)).toBeUndefined();
    expect(cookieFrom(json, "setup")).toMatch(/^service_setup_\d+=./);
    expect((await rejection(json, 409, "setup_required"))["hint"]).toBe("/setup");
    const form = await server.form("/login", { token: TOKEN });
    expect([form.status, form.headers.get("location")]).toEqual([303, "/setup"]);
    expect(cookieFrom(form, "setup")).toMatch(/=./);
  });

  test("sets the setup cookie for a live link", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const answer = await server.post("/login", { token: createLoginLink(server) });
    expect(cookieFrom(answer, "setup")).toMatch(/=./);
    await rejection(answer, 409, "setup_required");
  });

  test("counts a wrong token and answers 401", async () => {
    await using server = await startDashboard({
      form: setupBackend(),
      launcher: { login_attempts_per_minute: 1 },
    });
    const answer = await server.post("/login", { token: wrongToken(1) });
    expect(setCookieOf(answer, "setup")).toBeUndefined();
    await rejection(answer, 401, "invalid_token");
    await rejection(await server.post("/login", { token: wrongToken(2) }), 429, "rate_limited");
  });
});
