import { describe, expect, test } from "vitest";
import { createKernel, type AnyPlugin } from "../../../../../kernel/index.ts";
import { createCapturedLog } from "../../../../../kernel/testing.ts";
import { dashboard } from "../../../../../plugins/dashboard/index.ts";
import { http } from "../../../../../plugins/http/index.ts";
import { memory } from "../../../../../plugins/token-store/index.ts";
import { get as rawGet } from "../../../../support/http-client.ts";
import {
  TOKEN,
  setupBackend,
  isSignedIn,
  rejection,
  signIn,
  startDashboard,
  wrongToken,
} from "../../../../support/dashboard-server.ts";

describe("launcher state", () => {
  /** Offers a token store whose launcher token is missing. */
  const waiting = {
    name: "waiting",
    api: 1,
    drives: true,
    start: () => ({
      tokens: {
        claim: async () => ({ version: 0, source: "none", managedByEnv: false }),
        verify: async () => false,
        info: () => ({ version: 0, source: "none", managedByEnv: false }),
        names: () => ["launcher"],
        derive: () => new Uint8Array(32),
      },
      tokenSecrets: {
        reveal: () => undefined,
        replace: async () => {
          throw new Error("nothing to replace");
        },
      },
    }),
  } as unknown as AnyPlugin;

  test("answers 503 with Retry-After to all but /healthz while unconfigured", async () => {
    const kernel = createKernel([waiting as never, http({ port: 0 }), dashboard()] as never, {
      log: createCapturedLog().log,
    });
    await kernel.start();
    try {
      const { port } = (
        kernel.services as unknown as { http: { addresses(): URL[] } }
      ).http.addresses()[0]!;
      for (const path of [
        "/",
        "/login",
        "/setup",
        "/api/status",
        "/api/auth/status",
        "/nowhere",
        `/?token=${TOKEN}`,
        "/readyz",
      ]) {
        const answer = await rawGet(Number(port), path);
        expect([path, answer.status]).toEqual([path, 503]);
        expect(answer.headers["retry-after"]).toBe("1");
        expect(JSON.parse(answer.body)).toMatchObject({ error: "unavailable" });
      }
      expect((await rawGet(Number(port), "/healthz")).status).toBe(200);
      expect((await rawGet(Number(port), "/login", ["Host: evil.example"])).status).toBe(403);
    } finally {
      await kernel.stop();
    }
  });

  test("delays token checks for 5 s during a rotation, uncounted", async () => {
    const store = memory({ launcher: TOKEN });
    let finish = (): void => undefined;
    const form = {
      ...store,
      write: () =>
        new Promise<void>((done) => {
          finish = done;
        }),
    };
    // The two different values below wait at the same time, so both count as pending attempts.
    await using server = await startDashboard({ form, launcher: { login_attempts_per_minute: 2 } });
    const session = await signIn(server);
    const replaced = server.kernel.services.tokenSecrets.replace("launcher", {
      value: "another-token-of-mine",
      expect: 1,
    });
    expect(server.kernel.state()).toBe("rotating");
    const pending = [
      server.post("/login", { token: wrongToken(1) }),
      server.get(`/?token=${TOKEN}`),
      server.get("/api/status", { authorization: `Bearer ${TOKEN}` }),
    ];
    let settled = 0;
    for (const response of pending)
      void response.then(() => {
        settled += 1;
      });
    expect(await isSignedIn(server, session)).toBe(true);
    expect((await server.open("/login")).status).toBe(200);
    expect(await (await server.get("/api/auth/status", session)).json()).toMatchObject({
      state: "rotating",
      authenticated: true,
    });
    server.clock.increment(4_999);
    await server.get("/healthz");
    expect(settled).toBe(0);
    server.clock.increment(1);
    for (const answer of await Promise.all(pending)) {
      expect(answer.headers.get("retry-after")).not.toBeNull();
      await rejection(answer, 503, "store_unavailable");
    }
    finish();
    await replaced;
    for (const n of [2, 3])
      await rejection(await server.post("/login", { token: wrongToken(n) }), 401, "invalid_token");
  });

  test("lets a delayed token check finish with the rotation", async () => {
    const store = memory({ launcher: TOKEN });
    let finish = (): void => undefined;
    const form = {
      ...store,
      write: () =>
        new Promise<void>((done) => {
          finish = done;
        }),
    };
    await using server = await startDashboard({ form });
    const replaced = server.kernel.services.tokenSecrets.replace("launcher", {
      value: "another-token-of-mine",
      expect: 1,
    });
    const [old, next] = [
      server.post("/login", { token: TOKEN }),
      server.post("/login", { token: "another-token-of-mine" }),
    ];
    await server.get("/healthz");
    finish();
    await replaced;
    await rejection(await old, 401, "invalid_token");
    expect((await next).status).toBe(200);
  });
});

describe("guard", () => {
  test("checks host, origin, state and session before the route", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const evil = { host: "evil.example", origin: "https://evil.example" };
    await rejection(await server.post("/api/nowhere", {}, evil), 403, "host_not_allowed");
    await rejection(
      await server.post("/api/nowhere", {}, { origin: "https://evil.example" }),
      403,
      "origin_not_allowed",
    );
    await rejection(await server.post("/api/nowhere", {}), 403, "setup_required");
    await using running = await startDashboard();
    await rejection(await running.post("/api/nowhere", {}), 401, "unauthorized");
    await rejection(
      await running.post("/api/nowhere", {}, await signIn(running)),
      404,
      "not_found",
    );
  });

  test("rejects a request before reading its body", async () => {
    await using server = await startDashboard();
    await rejection(
      await server.post("/api/signin-links", { x: "x".repeat(2_000_000) }),
      401,
      "unauthorized",
    );
  });
});

describe("path normalization", () => {
  test("precedes the decision which paths are public", async () => {
    await using server = await startDashboard();
    for (const path of [
      "/assets/../api/status",
      "/assets/%2e%2e/api/status",
      "//api/status",
      "/login/../api/status",
      "/%61pi/status",
      "/api/%73tatus",
    ]) {
      await rejection(await server.get(path), 401, "unauthorized");
      expect((await server.get(path, { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
    }
  });
});
