import { hostname } from "node:os";
import { describe, expect, test } from "vitest";
import { createKernel, type AnyPlugin } from "../../../../kernel/index.ts";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import { dashboard } from "../../../../plugins/dashboard/index.ts";
import { http } from "../../../../plugins/http/index.ts";
import { memory } from "../../../../plugins/token-store/index.ts";
import { get as rawGet, raw } from "../../../support/http-client.ts";
import {
  TOKEN,
  inSetup,
  isIn,
  refusal,
  signedIn,
  startDashboard,
  wrong,
  type Lines,
} from "../../../support/dashboard-server.ts";

describe("1. the Host header", () => {
  const names = (port: number): [string, boolean][] => [
    ["localhost", true],
    [`localhost:${port}`, true],
    ["LOCALHOST", true],
    ["localhost.", true],
    ["door.localhost", true],
    ["127.0.0.1", true],
    ["192.168.1.20:80", true],
    ["[::1]:18800", true],
    ["[fe80::1]", true],
    ["evil.example", false],
    [`evil.example:${port}`, false],
    ["127.0.0.1.evil.example", false],
    ["localhost.evil.example", false],
    ["notlocalhost", false],
    ["1.2.3", false],
    [hostname(), false],
    [`${hostname()}.local`, false],
  ];

  test("localhost, names below it and IP addresses pass, other names are 403 and told what to do", async () => {
    await using stand = await startDashboard();
    for (const [host, passes] of names(stand.port)) {
      const answer = await stand.get("/api/auth/status", { host });
      if (passes) expect([host, answer.status]).toEqual([host, 200]);
      else {
        const body = await refusal(answer, 403, "host_not_allowed");
        expect(body["message"]).toContain(host);
        expect(body["hint"]).toContain("allowed_hosts");
      }
    }
  });

  test("allowed_hosts adds names and names below a star", async () => {
    await using stand = await startDashboard({
      launcher: { allowed_hosts: ["Door.Example.org", "*.lan.example"] },
    });
    const status = async (host: string): Promise<number> =>
      (await stand.get("/api/auth/status", { host })).status;
    for (const host of [
      "door.example.org",
      "DOOR.example.org:443",
      "a.lan.example",
      "b.a.lan.example",
    ])
      expect(await status(host)).toBe(200);
    for (const host of [
      "example.org",
      "x.door.example.org",
      "lan.example",
      "xlan.example",
      ".lan.example",
    ])
      expect(await status(host)).toBe(403);
  });

  test("on a bind that is not loopback the machine's own names pass too", async () => {
    await using stand = await startDashboard({ host: "0.0.0.0" });
    for (const host of [hostname(), `${hostname().toUpperCase()}:80`, `${hostname()}.local`]) {
      expect([host, (await stand.get("/api/auth/status", { host })).status]).toEqual([host, 200]);
    }
    await refusal(
      await stand.get("/api/auth/status", { host: "evil.example" }),
      403,
      "host_not_allowed",
    );
  });

  test("a missing or a second Host line is 400", async () => {
    await using stand = await startDashboard();
    expect((await rawGet(stand.port, "/api/auth/status", [])).status).toBe(400);
    expect(
      (await rawGet(stand.port, "/api/auth/status", ["Host: localhost", "Host: evil.example"]))
        .status,
    ).toBe(400);
    expect((await rawGet(stand.port, "/api/auth/status", ["Host:"])).status).toBe(400);
  });

  test("/healthz and /readyz skip it", async () => {
    await using stand = await startDashboard();
    for (const path of ["/healthz", "/readyz"]) {
      expect((await stand.get(path, { host: "evil.example" })).status).toBe(200);
      expect((await rawGet(stand.port, path, [])).status).toBe(200);
      expect((await rawGet(stand.port, path, ["Host: a", "Host: b"])).status).toBe(200);
      expect((await raw(stand.port, `GET ${path} HTTP/1.0\r\n\r\n`)).status).toBe(200);
    }
  });

  test("a browser gets a page about it, for every path and method nothing is done", async () => {
    await using stand = await startDashboard();
    const page = await stand.open("/", { host: "evil.example" });
    expect([page.status, page.headers.get("content-type")]).toEqual([
      403,
      "text/html; charset=utf-8",
    ]);
    expect(await page.text()).toContain("allowed_hosts");
    for (const path of ["/login", "/setup", "/logout", "/nowhere", "/api/status"]) {
      await refusal(
        await stand.post(path, { token: TOKEN }, { host: "evil.example" }),
        403,
        "host_not_allowed",
      );
    }
    await refusal(
      await stand.get(`/?token=${wrong(1)}`, { host: "evil.example" }),
      403,
      "host_not_allowed",
    );
    expect(stand.facts).toEqual([]);
  });

  test("X-Forwarded-Host counts only from a trusted proxy", async () => {
    await using plain = await startDashboard();
    expect(
      (await plain.get("/api/auth/status", { "x-forwarded-host": "evil.example" })).status,
    ).toBe(200);
    expect(
      plain.lines.filter(({ level, text }) => level === "warn" && text.includes("trusted_proxies")),
    ).toHaveLength(1);
    await using behind = await startDashboard({
      launcher: { trusted_proxies: ["127.0.0.1"], allowed_hosts: ["door.example.org"] },
    });
    expect(
      (
        await behind.get("/api/auth/status", {
          "x-forwarded-host": "door.example.org",
          host: "inner",
        })
      ).status,
    ).toBe(200);
    await refusal(
      await behind.get("/api/auth/status", { "x-forwarded-host": "evil.example" }),
      403,
      "host_not_allowed",
    );
  });
});

describe("3. where a changing request comes from", () => {
  const here = "own";
  const table: [string, Lines, boolean][] = [
    ["no browser", {}, true],
    ["same origin, as the browser says", { "sec-fetch-site": "same-origin", origin: here }, true],
    ["typed or from a bookmark", { "sec-fetch-site": "none" }, true],
    ["another port of this machine", { "sec-fetch-site": "same-site", origin: here }, false],
    ["another site", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }, false],
    [
      "another site that claims our origin",
      { "sec-fetch-site": "cross-site", origin: here },
      false,
    ],
    ["two answers to where it is from", { "sec-fetch-site": ["same-origin", "cross-site"] }, false],
    ["an unknown word", { "sec-fetch-site": "elsewhere" }, false],
    ["our origin", { origin: here }, true],
    ["our origin in capitals", { origin: "OWN" }, true],
    ["another origin", { origin: "https://evil.example" }, false],
    ["our host by another scheme", { origin: "https" }, false],
    ["our host on another port", { origin: "port" }, false],
    ["a listed origin", { origin: "https://friend.example" }, true],
    ["a listed origin in capitals", { origin: "HTTPS://Friend.Example" }, true],
    [
      "an origin that begins like a listed one",
      { origin: "https://friend.example.evil.example" },
      false,
    ],
    ["two origins", { origin: ["own", "https://evil.example"] }, false],
    ["an empty origin", { origin: "" }, false],
  ];
  const spelled = (lines: Lines, base: URL): Lines => {
    const words: Record<string, string> = {
      own: base.origin,
      OWN: base.origin.toUpperCase(),
      https: `https://${base.host}`,
      port: `http://${base.hostname}:${Number(base.port) + 1}`,
    };
    const word = (value: string): string => words[value] ?? value;
    return Object.fromEntries(
      Object.entries(lines).map(([name, value]) => [
        name,
        typeof value === "string" ? word(value) : (value?.map(word) ?? null),
      ]),
    );
  };

  test.each(table)("%s", async (_, lines, passes) => {
    await using stand = await startDashboard({
      launcher: { allowed_origins: ["https://Friend.example:443"] },
    });
    const session = await signedIn(stand);
    const headers = { ...spelled(lines, stand.base), ...session };
    const answers = {
      links: await stand.post("/api/signin-links", undefined, headers),
      login: await stand.post("/login", { token: TOKEN }, headers), // replaces the session
      form: await stand.form("/login", { token: TOKEN }, headers),
      logout: await stand.post("/logout", undefined, headers),
    };
    if (passes) {
      expect(Object.values(answers).map(({ status }) => status)).toEqual([200, 200, 303, 200]);
      return;
    }
    for (const answer of Object.values(answers)) {
      const body = await refusal(answer, 403, "origin_not_allowed");
      expect(body["message"]).toContain(stand.origin);
      expect(body["hint"]).toContain("allowed_origins");
    }
    expect(await isIn(stand, session)).toBe(true);
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])(
    "%s is asked at every address, before anything is looked up",
    async (method) => {
      await using stand = await startDashboard();
      const headers = { ...(await signedIn(stand)), origin: "https://evil.example" };
      for (const path of ["/api/sessions", "/logout", "/nowhere"]) {
        await refusal(await stand.request(path, { method, headers }), 403, "origin_not_allowed");
      }
    },
  );

  test("a refusal names both origins", async () => {
    await using stand = await startDashboard();
    const { message } = await refusal(
      await stand.post("/login", {}, { origin: "https://evil.example" }),
      403,
      "origin_not_allowed",
    );
    expect(message).toContain("https://evil.example");
    expect(message).toContain(stand.origin);
  });

  test("nothing is compared nor counted for a refused origin", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (const token of [wrong(1), wrong(2), TOKEN]) {
      await refusal(
        await stand.post("/login", { token }, { origin: "https://evil.example" }),
        403,
        "origin_not_allowed",
      );
    }
    await refusal(await stand.post("/login", { token: wrong(3) }), 401, "invalid_token");
  });

  test("Origin: null passes only for the forms that prove themselves in their body", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    for (const site of [{}, { "sec-fetch-site": "same-origin" }, { "sec-fetch-site": "none" }]) {
      const headers = { origin: "null", ...site };
      expect((await stand.form("/login", { token: TOKEN }, headers)).status).toBe(303);
      expect((await stand.form("/logout", {}, headers)).status).toBe(303);
      await refusal(
        await stand.post("/login", { token: TOKEN }, headers),
        403,
        "origin_not_allowed",
      );
      await refusal(
        await stand.post("/api/signin-links", undefined, { ...headers, ...session }),
        403,
        "origin_not_allowed",
      );
      await refusal(
        await stand.form("/api/signin-links", {}, { ...headers, ...session }),
        403,
        "origin_not_allowed",
      );
      await refusal(
        await stand.form("/nowhere", {}, { ...headers, ...session }),
        403,
        "origin_not_allowed",
      );
    }
    await refusal(
      await stand.form(
        "/login",
        { token: TOKEN },
        { origin: "null", "sec-fetch-site": "cross-site" },
      ),
      403,
      "origin_not_allowed",
    );
    await using fresh = await startDashboard({ form: inSetup() });
    expect(
      (await fresh.form("/setup", { code: TOKEN, keep: "true" }, { origin: "null" })).status,
    ).toBe(303);
  });

  test("behind a trusted proxy our origin is the one the browser sees", async () => {
    await using stand = await startDashboard({
      launcher: { trusted_proxies: ["127.0.0.1"], allowed_hosts: ["door.example.org"] },
    });
    const proxied = {
      "x-forwarded-proto": "https",
      "x-forwarded-host": "door.example.org",
      "x-forwarded-for": "10.1.1.1",
    };
    const login = (origin: string): Promise<Response> =>
      stand.post("/login", { token: TOKEN }, { ...proxied, origin });
    expect((await login("https://door.example.org")).status).toBe(200);
    await refusal(await login("http://door.example.org"), 403, "origin_not_allowed");
    await refusal(await login(stand.origin), 403, "origin_not_allowed");
  });

  test("with a Bearer the question is not asked", async () => {
    await using stand = await startDashboard();
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      origin: "https://evil.example",
      "sec-fetch-site": "cross-site",
    };
    expect((await stand.post("/api/signin-links", undefined, headers)).status).toBe(200);
    const session = await signedIn(stand);
    const answer = await stand.post("/api/signin-links", undefined, {
      ...headers,
      ...session,
      authorization: `Bearer ${wrong(1)}`,
    });
    await refusal(answer, 401, "invalid_token");
  });

  test("reading needs no origin", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    expect(
      (
        await stand.get("/api/status", {
          ...session,
          origin: "https://evil.example",
          "sec-fetch-site": "cross-site",
        })
      ).status,
    ).toBe(200);
    expect(
      (await stand.get("/api/status", { ...session, origin: "null" })).headers.get(
        "access-control-allow-origin",
      ),
    ).toBeNull();
  });
});

describe("4. the launcher's state", () => {
  /** Offers tokens that are never resolved. */
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

  test("while it is unconfigured everything but /healthz is 503 with Retry-After", async () => {
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

  test("a check of a token that is being replaced waits 5 s, then 503; nothing is counted nor waits else", async () => {
    const store = memory({ launcher: TOKEN });
    let finish = (): void => undefined;
    const form = {
      ...store,
      write: () =>
        new Promise<void>((done) => {
          finish = done;
        }),
    };
    // As many as there are different values below: those that wait together are counted together.
    await using stand = await startDashboard({ form, launcher: { login_attempts_per_minute: 2 } });
    const session = await signedIn(stand);
    const replaced = stand.kernel.services.tokenSecrets.replace("launcher", {
      value: "another-token-of-mine",
      expect: 1,
    });
    expect(stand.kernel.state()).toBe("rotating");
    const waiting = [
      stand.post("/login", { token: wrong(1) }),
      stand.get(`/?token=${TOKEN}`),
      stand.get("/api/status", { authorization: `Bearer ${TOKEN}` }),
    ];
    let answered = 0;
    for (const one of waiting)
      void one.then(() => {
        answered += 1;
      });
    expect(await isIn(stand, session)).toBe(true);
    expect((await stand.open("/login")).status).toBe(200);
    expect(await (await stand.get("/api/auth/status", session)).json()).toMatchObject({
      state: "rotating",
      authenticated: true,
    });
    stand.clock.increment(4_999);
    await stand.get("/healthz");
    expect(answered).toBe(0);
    stand.clock.increment(1);
    for (const answer of await Promise.all(waiting)) {
      expect(answer.headers.get("retry-after")).not.toBeNull();
      await refusal(answer, 503, "store_unavailable");
    }
    finish();
    await replaced;
    for (const at of [2, 3])
      await refusal(await stand.post("/login", { token: wrong(at) }), 401, "invalid_token");
  });

  test("a check that waits gets its answer as soon as the replacement is done", async () => {
    const store = memory({ launcher: TOKEN });
    let finish = (): void => undefined;
    const form = {
      ...store,
      write: () =>
        new Promise<void>((done) => {
          finish = done;
        }),
    };
    await using stand = await startDashboard({ form });
    const replaced = stand.kernel.services.tokenSecrets.replace("launcher", {
      value: "another-token-of-mine",
      expect: 1,
    });
    const [old, next] = [
      stand.post("/login", { token: TOKEN }),
      stand.post("/login", { token: "another-token-of-mine" }),
    ];
    await stand.get("/healthz");
    finish();
    await replaced;
    await refusal(await old, 401, "invalid_token");
    expect((await next).status).toBe(200);
  });
});

describe("the first check that fails answers", () => {
  test("host before origin, origin before state and session, session before the route", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const evil = { host: "evil.example", origin: "https://evil.example" };
    await refusal(await stand.post("/api/nowhere", {}, evil), 403, "host_not_allowed");
    await refusal(
      await stand.post("/api/nowhere", {}, { origin: "https://evil.example" }),
      403,
      "origin_not_allowed",
    );
    await refusal(await stand.post("/api/nowhere", {}), 403, "setup_required");
    await using running = await startDashboard();
    await refusal(await running.post("/api/nowhere", {}), 401, "unauthorized");
    await refusal(
      await running.post("/api/nowhere", {}, await signedIn(running)),
      404,
      "not_found",
    );
  });

  test("before the body is read", async () => {
    await using stand = await startDashboard();
    await refusal(
      await stand.post("/api/signin-links", { x: "x".repeat(2_000_000) }),
      401,
      "unauthorized",
    );
  });
});

describe("paths", () => {
  test("are normalised before it is decided what is public", async () => {
    await using stand = await startDashboard();
    for (const path of [
      "/assets/../api/status",
      "/assets/%2e%2e/api/status",
      "//api/status",
      "/login/../api/status",
      "/%61pi/status",
      "/api/%73tatus",
    ]) {
      await refusal(await stand.get(path), 401, "unauthorized");
      expect((await stand.get(path, { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
    }
  });
});
