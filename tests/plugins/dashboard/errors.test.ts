import { describe, expect, test } from "vitest";
import { memory, type TokenBackend } from "../../../plugins/token-store/index.ts";
import {
  TOKEN,
  setupBackend,
  rejection,
  signIn,
  startDashboard,
  wrongToken,
  type Sent,
} from "../../support/dashboard-server.ts";

const json = (body: string, type = "application/json"): Sent => ({
  method: "POST",
  headers: { "content-type": type },
  body,
});

describe("sendError", () => {
  test("returns a code, a sentence and a hint", async () => {
    await using server = await startDashboard();
    const bodies = [
      await rejection(await server.get("/api/status"), 401, "unauthorized"),
      await rejection(await server.post("/login", {}), 400, "invalid_body"),
      await rejection(await server.post("/login", { token: wrongToken(1) }), 401, "invalid_token"),
      await rejection(
        await server.get("/api/status", { host: "evil.example" }),
        403,
        "host_not_allowed",
      ),
      await rejection(
        await server.post("/logout", {}, { origin: "https://evil.example" }),
        403,
        "origin_not_allowed",
      ),
      await rejection(await server.get("/logout"), 405, "method_not_allowed"),
      await rejection(await server.post("/setup", {}), 409, "already_set_up"),
    ];
    for (const body of bodies) {
      expect(body["message"]).toMatch(/^[A-Z].*\.$/s);
      for (const key of Object.keys(body))
        expect(["error", "message", "hint", "retryAfterSeconds"]).toContain(key);
    }
  });

  test("names an invalid field and never quotes the body", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const body = await rejection(
      await server.post("/login", { token: [TOKEN] }),
      400,
      "invalid_body",
    );
    expect(body["message"]).toContain('"token"');
    expect(JSON.stringify(body)).not.toContain(TOKEN);
  });

  test("adds WWW-Authenticate: Bearer to every 401", async () => {
    await using server = await startDashboard();
    await using fresh = await startDashboard({ form: setupBackend() });
    const answers = [
      await server.get("/api/status"),
      await server.get("/nowhere"),
      await server.post("/login", { token: wrongToken(1) }),
      await server.form("/login", { token: wrongToken(1) }),
      await server.get(`/?token=${wrongToken(2)}`),
      await server.get("/api/status", { authorization: `Bearer ${wrongToken(3)}` }),
      await fresh.post("/setup", { keep: true }),
      await fresh.form("/setup", { code: wrongToken(1), keep: "true" }),
    ];
    for (const answer of answers) {
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([
        401,
        'Bearer realm="launcher"',
      ]);
    }
  });
});

describe("unknown path", () => {
  test("returns 404 as JSON or as a page", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    await rejection(await server.get("/nowhere", session), 404, "not_found");
    await rejection(await server.open("/api/nowhere", session), 404, "not_found");
    const page = await server.open("/nowhere", session);
    expect([page.status, page.headers.get("content-type")]).toEqual([
      404,
      "text/html; charset=utf-8",
    ]);
    await rejection(
      await server.get("/api/nowhere", { authorization: `Bearer ${TOKEN}` }),
      404,
      "not_found",
    );
  });

  test("returns 404 below /assets without a sign-in", async () => {
    await using server = await startDashboard();
    for (const path of [
      "/assets/x",
      "/assets/",
      "/assets/000000000000/console/base.css",
      "/assets/..%2f..%2fpackage.json",
    ]) {
      await rejection(await server.get(path), 404, "not_found");
    }
  });

  test("returns 404 below /local", async () => {
    await using server = await startDashboard();
    await rejection(await server.get("/local/status", await signIn(server)), 404, "not_found");
  });
});

describe("unsupported method", () => {
  test("returns 405 with the supported methods", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    for (const [method, path, allow] of [
      ["PUT", "/login", "HEAD, GET, POST"],
      ["DELETE", "/setup", "HEAD, GET, POST"],
      ["PATCH", "/logout", "HEAD, GET, POST"],
      ["POST", "/", "HEAD, GET"],
      ["POST", "/api/status", "HEAD, GET"],
      ["GET", "/api/signin-links", "POST, DELETE"],
      ["GET", "/api/channels/pico", "PUT"],
      ["POST", "/healthz", "HEAD, GET"],
      ["OPTIONS", "/login", "HEAD, GET, POST"],
    ] as const) {
      const answer = await server.request(path, { method, headers: session });
      const allowed = path === "/logout" ? "POST" : allow;
      expect([method, path, answer.headers.get("allow")]).toEqual([method, path, allowed]);
      await rejection(answer, 405, "method_not_allowed");
    }
  });
});

describe("request body", () => {
  test("leads to 413 over 4 KiB for sign-in, setup and sign-out", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    for (const path of ["/login", "/setup", "/logout"]) {
      await rejection(await server.post(path, { token: "x".repeat(4_096) }), 413, "body_too_large");
      await rejection(await server.form(path, { token: "x".repeat(4_096) }), 413, "body_too_large");
      const chunked = {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-length": null,
          "transfer-encoding": "chunked",
        },
      };
      await rejection(
        await server.request(path, {
          ...chunked,
          body: JSON.stringify({ token: "x".repeat(5_000) }),
        }),
        413,
        "body_too_large",
      );
    }
    await rejection(
      await server.post("/login", { token: "x".repeat(2_900) }),
      401,
      "invalid_token",
    );
    await rejection(
      await server.post("/api/signin-links", { x: "x".repeat(1_048_576) }, session),
      413,
      "body_too_large",
    );
    expect(
      (await server.post("/api/signin-links", { x: "x".repeat(1_000_000) }, session)).status,
    ).toBe(200);
  });

  test("leads to 415 if its type is unsupported", async () => {
    await using server = await startDashboard();
    for (const type of [
      "text/plain",
      "application/xml",
      "multipart/form-data; boundary=x",
      "application/jsonx",
      "x",
    ]) {
      await rejection(
        await server.request("/login", json('{"token":"x"}', type)),
        415,
        "unsupported_media_type",
      );
    }
    await rejection(
      await server.request("/login", { method: "POST", body: "token=x" }),
      415,
      "unsupported_media_type",
    );
    await rejection(
      await server.request("/login", json('{"token":"x"}', "application/json; charset=utf-8")),
      401,
      "invalid_token",
    );
    expect(
      (
        await server.request(
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
  ])("leads to 400 if it is invalid JSON: %s", async (body) => {
    await using server = await startDashboard();
    await rejection(await server.request("/login", json(body)), 400, "invalid_body");
    await rejection(await server.request("/logout", json(body)), 400, "invalid_body");
  });
});

describe("internal error", () => {
  test("returns 500 without detail and logs the cause", async () => {
    await using server = await startDashboard({
      dashboard: {
        ways: () => {
          throw new Error("no ways today");
        },
      },
    });
    const body = await rejection(await server.get("/api/auth/status"), 500, "internal");
    expect(body).toEqual({ error: "internal", message: expect.stringContaining("log") });
    const page = await server.open("/login");
    expect(page.status).toBe(500);
    expect(await page.text()).not.toContain("no ways");
    expect(server.lines.filter(({ level }) => level === "error")).toHaveLength(2);
    expect(server.logged()).toContain("no ways today");
  });

  test("returns 503 for a token store and hides its message", async () => {
    const form: TokenBackend = {
      ...memory({ launcher: TOKEN }),
      verify: (_, candidate) => {
        throw Object.assign(new Error(`cannot look up ${candidate}`), { code: "ECONNREFUSED" });
      },
    };
    await using server = await startDashboard({ form, launcher: { login_attempts_per_minute: 1 } });
    for (const n of [1, 2]) {
      const answers = [
        await server.post("/login", { token: wrongToken(n) }),
        await server.form("/login", { token: wrongToken(n) }),
        await server.get(`/?token=${wrongToken(n)}`),
        await server.get("/api/status", { authorization: `Bearer ${wrongToken(n)}` }),
      ];
      for (const answer of answers) {
        expect(answer.headers.get("retry-after")).toBe("5");
        expect(JSON.stringify(await rejection(answer, 503, "store_unavailable"))).not.toContain(
          "look up",
        );
      }
    }
    expect((await server.open(`/?token=${wrongToken(1)}`)).status).toBe(503);
    expect(server.lines.filter(({ level }) => level === "error")[0]).toMatchObject({
      code: "ECONNREFUSED",
    });
    expect(server.logged()).not.toContain("wrong-token");
    expect(server.facts).toEqual([]);
  });
});
