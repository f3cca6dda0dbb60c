import { describe, expect, test } from "vitest";
import { memory, type TokenBackend } from "../../../plugins/token-store/index.ts";
import { safety } from "../../support/http-client.ts";
import {
  TOKEN,
  inSetup,
  refusal,
  signedIn,
  startDashboard,
  wrong,
  type Sent,
} from "../../support/dashboard-server.ts";

const typeOf = (answer: Response): string => answer.headers.get("content-type") ?? "";
const json = (body: string, type = "application/json"): Sent => ({
  method: "POST",
  headers: { "content-type": type },
  body,
});

describe("a refusal", () => {
  test("has a code, one sentence, and what helps", async () => {
    await using stand = await startDashboard();
    const bodies = [
      await refusal(await stand.get("/api/status"), 401, "unauthorized"),
      await refusal(await stand.post("/login", {}), 400, "invalid_body"),
      await refusal(await stand.post("/login", { token: wrong(1) }), 401, "invalid_token"),
      await refusal(
        await stand.get("/api/status", { host: "evil.example" }),
        403,
        "host_not_allowed",
      ),
      await refusal(
        await stand.post("/logout", {}, { origin: "https://evil.example" }),
        403,
        "origin_not_allowed",
      ),
      await refusal(await stand.get("/logout"), 405, "method_not_allowed"),
      await refusal(await stand.post("/setup", {}), 409, "already_set_up"),
    ];
    for (const body of bodies) {
      expect(body["message"]).toMatch(/^[A-Z].*\.$/s);
      for (const key of Object.keys(body))
        expect(["error", "message", "hint", "retryAfterSeconds"]).toContain(key);
    }
  });

  test("names a field of the body and nothing that was sent", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const body = await refusal(await stand.post("/login", { token: [TOKEN] }), 400, "invalid_body");
    expect(body["message"]).toContain('"token"');
    expect(JSON.stringify(body)).not.toContain(TOKEN);
  });

  test("of 401 always carries WWW-Authenticate: Bearer, never Basic", async () => {
    await using stand = await startDashboard();
    await using fresh = await startDashboard({ form: inSetup() });
    const answers = [
      await stand.get("/api/status"),
      await stand.get("/nowhere"),
      await stand.post("/login", { token: wrong(1) }),
      await stand.form("/login", { token: wrong(1) }),
      await stand.get(`/?token=${wrong(2)}`),
      await stand.get("/api/status", { authorization: `Bearer ${wrong(3)}` }),
      await fresh.post("/setup", { keep: true }),
      await fresh.form("/setup", { code: wrong(1), keep: "true" }),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([
        401,
        'Bearer realm="launcher"',
      ]);
    }
  });
});

describe("an address that nobody serves", () => {
  test("is 404 to the signed in: JSON to a program, a page to a browser", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    await refusal(await stand.get("/nowhere", session), 404, "not_found");
    await refusal(await stand.open("/api/nowhere", session), 404, "not_found");
    const page = await stand.open("/nowhere", session);
    expect([page.status, page.headers.get("content-type")]).toEqual([
      404,
      "text/html; charset=utf-8",
    ]);
    await refusal(
      await stand.get("/api/nowhere", { authorization: `Bearer ${TOKEN}` }),
      404,
      "not_found",
    );
  });

  test("below /assets is 404 to everybody", async () => {
    await using stand = await startDashboard();
    for (const path of [
      "/assets/x",
      "/assets/",
      "/assets/000000000000/dashboard/base.css",
      "/assets/..%2f..%2fpackage.json",
    ]) {
      await refusal(await stand.get(path), 404, "not_found");
    }
  });

  test("below /local is not found, whoever asks", async () => {
    await using stand = await startDashboard();
    await refusal(await stand.get("/local/status", await signedIn(stand)), 404, "not_found");
  });
});

describe("a method that is not served", () => {
  test("is 405 with what is", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    for (const [method, path, allow] of [
      ["PUT", "/login", "HEAD, GET, POST"],
      ["DELETE", "/setup", "HEAD, GET, POST"],
      ["PATCH", "/logout", "HEAD, GET, POST"],
      ["POST", "/", "HEAD, GET"],
      ["POST", "/api/status", "HEAD, GET"],
      ["GET", "/api/signin-links", "POST"],
      ["GET", "/api/channels/pico", "PUT"],
      ["POST", "/healthz", "HEAD, GET"],
      ["OPTIONS", "/login", "HEAD, GET, POST"],
    ] as const) {
      const answer = await stand.request(path, { method, headers: session });
      const allowed = path === "/logout" ? "POST" : allow;
      expect([method, path, answer.headers.get("allow")]).toEqual([method, path, allowed]);
      await refusal(answer, 405, "method_not_allowed");
    }
  });
});

describe("a body", () => {
  test("over 4 KiB is 413 on login, setup and logout", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    for (const path of ["/login", "/setup", "/logout"]) {
      await refusal(await stand.post(path, { token: "x".repeat(4_096) }), 413, "body_too_large");
      await refusal(await stand.form(path, { token: "x".repeat(4_096) }), 413, "body_too_large");
      const chunked = {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-length": null,
          "transfer-encoding": "chunked",
        },
      };
      await refusal(
        await stand.request(path, {
          ...chunked,
          body: JSON.stringify({ token: "x".repeat(5_000) }),
        }),
        413,
        "body_too_large",
      );
    }
    await refusal(await stand.post("/login", { token: "x".repeat(2_900) }), 401, "invalid_token");
    await refusal(
      await stand.post("/api/signin-links", { x: "x".repeat(1_048_576) }, session),
      413,
      "body_too_large",
    );
    expect(
      (await stand.post("/api/signin-links", { x: "x".repeat(1_000_000) }, session)).status,
    ).toBe(200);
  });

  test("of another type is 415", async () => {
    await using stand = await startDashboard();
    for (const type of [
      "text/plain",
      "application/xml",
      "multipart/form-data; boundary=x",
      "application/jsonx",
      "x",
    ]) {
      await refusal(
        await stand.request("/login", json('{"token":"x"}', type)),
        415,
        "unsupported_media_type",
      );
    }
    await refusal(
      await stand.request("/login", { method: "POST", body: "token=x" }),
      415,
      "unsupported_media_type",
    );
    await refusal(
      await stand.request("/login", json('{"token":"x"}', "application/json; charset=utf-8")),
      401,
      "invalid_token",
    );
    expect(
      (
        await stand.request(
          "/login",
          json("token=x", "Application/X-WWW-Form-Urlencoded; charset=utf-8"),
        )
      ).status,
    ).toBe(401);
  });

  test.each([
    "{",
    "x",
    '{"a":',
    "[",
    "{}x",
    '{"constructor":{"prototype":{}}}',
    '{"__proto__":{}}',
  ])("that is no JSON of ours is 400: %s", async (body) => {
    await using stand = await startDashboard();
    await refusal(await stand.request("/login", json(body)), 400, "invalid_body");
    await refusal(await stand.request("/logout", json(body)), 400, "invalid_body");
  });
});

describe("what goes wrong inside", () => {
  test("is 500 without any detail outside, and in the log", async () => {
    await using stand = await startDashboard({
      dashboard: {
        ways: () => {
          throw new Error("no ways today");
        },
      },
    });
    const body = await refusal(await stand.get("/api/auth/status"), 500, "internal");
    expect(body).toEqual({ error: "internal", message: expect.stringContaining("log") });
    const page = await stand.open("/login");
    expect(page.status).toBe(500);
    expect(await page.text()).not.toContain("no ways");
    expect(stand.lines.filter(({ level }) => level === "error")).toHaveLength(2);
    expect(stand.logged()).toContain("no ways today");
  });

  test("in a store is 503, not counted, and its words stay out of everything: they may quote the token", async () => {
    const form: TokenBackend = {
      ...memory({ launcher: TOKEN }),
      verify: (_, candidate) => {
        throw Object.assign(new Error(`cannot look up ${candidate}`), { code: "ECONNREFUSED" });
      },
    };
    await using stand = await startDashboard({ form, launcher: { login_attempts_per_minute: 1 } });
    for (const n of [1, 2]) {
      const answers = [
        await stand.post("/login", { token: wrong(n) }),
        await stand.form("/login", { token: wrong(n) }),
        await stand.get(`/?token=${wrong(n)}`),
        await stand.get("/api/status", { authorization: `Bearer ${wrong(n)}` }),
      ];
      for (const answer of answers) {
        expect(answer.headers.get("retry-after")).toBe("5");
        expect(JSON.stringify(await refusal(answer, 503, "store_unavailable"))).not.toContain(
          "look up",
        );
      }
    }
    expect((await stand.open(`/?token=${wrong(1)}`)).status).toBe(503);
    expect(stand.lines.filter(({ level }) => level === "error")[0]).toMatchObject({
      code: "ECONNREFUSED",
    });
    expect(stand.logged()).not.toContain("wrong-token");
    expect(stand.facts).toEqual([]);
  });
});

describe("every answer", () => {
  test("carries the safety headers, tells what it varies by, and is not stored", async () => {
    await using stand = await startDashboard();
    await using fresh = await startDashboard({ form: inSetup() });
    const session = await signedIn(stand);
    const { open, get, post, form, request } = stand;
    const answers = [
      await open("/"),
      await open("/", session),
      await open("/login"),
      await get("/login"),
      await open("/setup"),
      await request("/login", { method: "HEAD" }),
      await open("/nowhere", session),
      await get("/nowhere", session),
      await open(`/?token=${TOKEN}`),
      await open(`/?token=${wrong(1)}`),
      await get(`/?token=${wrong(1)}`),
      await post("/login", { token: TOKEN }),
      await post("/login", {}),
      await post("/login", { token: wrong(1) }),
      await form("/login", { token: TOKEN }),
      await form("/login", { token: "" }),
      await form("/login", { token: wrong(1) }),
      await post("/login", { token: "x".repeat(5_000) }),
      await request("/login", json("{")),
      await request("/login", json("x", "text/plain")),
      await get("/%zz"),
      await post("/login", {}, { origin: "https://evil.example" }),
      await get("/", { host: "evil.example" }),
      await post("/logout", {}),
      await form("/logout", {}),
      await get("/logout"),
      await get("/healthz"),
      await get("/readyz"),
      await get("/api/auth/status"),
      await get("/api/status"),
      await get("/api/status", session),
      await post("/api/signin-links", undefined, session),
      await fresh.open("/setup"),
      await fresh.open("/"),
      await fresh.get("/"),
      await fresh.post("/setup", {}),
      await fresh.form("/setup", {}),
      await fresh.post("/setup", { code: TOKEN, keep: true }),
    ];
    for (const answer of answers) {
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        ...safety,
        "cache-control": "no-store",
      });
      if (answer.status !== 400) expect(answer.headers.get("vary")).toBe("Accept, Sec-Fetch-Mode");
      for (const name of [
        "server",
        "x-powered-by",
        "access-control-allow-origin",
        "strict-transport-security",
      ]) {
        expect(answer.headers.get(name)).toBeNull();
      }
    }
  });

  test("of an asset may be kept for ever and carries the same headers", async () => {
    await using stand = await startDashboard();
    const page = await (await stand.open("/login")).text();
    const paths = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) {
      const answer = await stand.get(path);
      expect(answer.status).toBe(200);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        ...safety,
        "cache-control": "public, max-age=31536000, immutable",
      });
      expect(answer.headers.get("content-type")).toMatch(
        /^(text\/css|text\/javascript|image\/svg\+xml)/,
      );
    }
  });

  test("is a page for a navigation or for who takes text/html, outside /api/, by GET and HEAD only", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    const isPage = async (
      path: string,
      headers: Record<string, string>,
      method = "GET",
    ): Promise<boolean> =>
      typeOf(await stand.request(path, { method, headers: { ...session, ...headers } })).startsWith(
        "text/html",
      );
    expect(await isPage("/nowhere", { "sec-fetch-mode": "navigate" })).toBe(true);
    expect(await isPage("/nowhere", { accept: "application/json, text/html;q=0.5" })).toBe(true);
    expect(await isPage("/nowhere", { accept: "text/html" }, "HEAD")).toBe(true);
    expect(await isPage("/nowhere", { accept: "*/*" })).toBe(false);
    expect(await isPage("/nowhere", {})).toBe(false);
    expect(
      await isPage("/api/nowhere", { accept: "text/html", "sec-fetch-mode": "navigate" }),
    ).toBe(false);
    expect(await isPage("/nowhere", { accept: "text/html" }, "POST")).toBe(false);
    expect(await isPage("/apix", { accept: "text/html" })).toBe(true);
  });
});
