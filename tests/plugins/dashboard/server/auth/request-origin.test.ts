import { describe, expect, test } from "vitest";
import {
  TOKEN,
  setupBackend,
  isSignedIn,
  rejection,
  signIn,
  startDashboard,
  wrongToken,
  type HeaderLines,
} from "../../../../support/dashboard-server.ts";

describe("Origin and Sec-Fetch-Site", () => {
  const here = "own";
  const table: [string, HeaderLines, boolean][] = [
    ["no browser", {}, true],
    ["same origin, as the browser says", { "sec-fetch-site": "same-origin", origin: here }, true],
    ["typed or from a bookmark", { "sec-fetch-site": "none" }, true],
    ["another port of this machine", { "sec-fetch-site": "same-site", origin: here }, false],
    ["another site", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }, false],
    [
      "another site that claims this origin",
      { "sec-fetch-site": "cross-site", origin: here },
      false,
    ],
    ["two Sec-Fetch-Site lines", { "sec-fetch-site": ["same-origin", "cross-site"] }, false],
    ["an unknown Sec-Fetch-Site", { "sec-fetch-site": "elsewhere" }, false],
    ["this origin", { origin: here }, true],
    ["this origin in capitals", { origin: "OWN" }, true],
    ["another origin", { origin: "https://evil.example" }, false],
    ["this host by another scheme", { origin: "https" }, false],
    ["this host on another port", { origin: "port" }, false],
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
  const spelled = (lines: HeaderLines, base: URL): HeaderLines => {
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

  test.each(table)("decide about a request: %s", async (_, lines, passes) => {
    await using server = await startDashboard({
      launcher: { allowed_origins: ["https://Friend.example:443"] },
    });
    const session = await signIn(server);
    const headers = { ...spelled(lines, server.base), ...session };
    const answers = {
      links: await server.post("/api/signin-links", undefined, headers),
      login: await server.post("/login", { token: TOKEN }, headers), // replaces the session
      form: await server.form("/login", { token: TOKEN }, headers),
      logout: await server.post("/logout", undefined, headers),
    };
    if (passes) {
      expect(Object.values(answers).map(({ status }) => status)).toEqual([200, 200, 303, 200]);
      return;
    }
    for (const answer of Object.values(answers)) {
      const body = await rejection(answer, 403, "origin_not_allowed");
      expect(body["message"]).toContain(server.origin);
      expect(body["hint"]).toContain("allowed_origins");
    }
    expect(await isSignedIn(server, session)).toBe(true);
  });

  test.each(["POST", "PUT", "PATCH", "DELETE"])(
    "reject %s requests of other sites before routing",
    async (method) => {
      await using server = await startDashboard();
      const headers = { ...(await signIn(server)), origin: "https://evil.example" };
      for (const path of ["/api/sessions", "/logout", "/nowhere"]) {
        await rejection(await server.request(path, { method, headers }), 403, "origin_not_allowed");
      }
    },
  );

  test("appear in the error message", async () => {
    await using server = await startDashboard();
    const { message } = await rejection(
      await server.post("/login", {}, { origin: "https://evil.example" }),
      403,
      "origin_not_allowed",
    );
    expect(message).toContain("https://evil.example");
    expect(message).toContain(server.origin);
  });

  test("prevent token checks of rejected requests", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (const token of [wrongToken(1), wrongToken(2), TOKEN]) {
      await rejection(
        await server.post("/login", { token }, { origin: "https://evil.example" }),
        403,
        "origin_not_allowed",
      );
    }
    await rejection(await server.post("/login", { token: wrongToken(3) }), 401, "invalid_token");
  });

  test("accept Origin: null only with a proof in the form", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    for (const site of [{}, { "sec-fetch-site": "same-origin" }, { "sec-fetch-site": "none" }]) {
      const headers = { origin: "null", ...site };
      expect((await server.form("/login", { token: TOKEN }, headers)).status).toBe(303);
      expect((await server.form("/logout", {}, headers)).status).toBe(303);
      await rejection(
        await server.post("/login", { token: TOKEN }, headers),
        403,
        "origin_not_allowed",
      );
      await rejection(
        await server.post("/api/signin-links", undefined, { ...headers, ...session }),
        403,
        "origin_not_allowed",
      );
      await rejection(
        await server.form("/api/signin-links", {}, { ...headers, ...session }),
        403,
        "origin_not_allowed",
      );
      await rejection(
        await server.form("/nowhere", {}, { ...headers, ...session }),
        403,
        "origin_not_allowed",
      );
    }
    await rejection(
      await server.form(
        "/login",
        { token: TOKEN },
        { origin: "null", "sec-fetch-site": "cross-site" },
      ),
      403,
      "origin_not_allowed",
    );
    await using fresh = await startDashboard({ form: setupBackend() });
    expect(
      (await fresh.form("/setup", { code: TOKEN, keep: "true" }, { origin: "null" })).status,
    ).toBe(303);
  });

  test("match the public origin behind a trusted proxy", async () => {
    await using server = await startDashboard({
      launcher: { trusted_proxies: ["127.0.0.1"], allowed_hosts: ["door.example.org"] },
    });
    const proxied = {
      "x-forwarded-proto": "https",
      "x-forwarded-host": "door.example.org",
      "x-forwarded-for": "10.1.1.1",
    };
    const login = (origin: string): Promise<Response> =>
      server.post("/login", { token: TOKEN }, { ...proxied, origin });
    expect((await login("https://door.example.org")).status).toBe(200);
    await rejection(await login("http://door.example.org"), 403, "origin_not_allowed");
    await rejection(await login(server.origin), 403, "origin_not_allowed");
  });

  test("do not matter with a Bearer", async () => {
    await using server = await startDashboard();
    const headers = {
      authorization: `Bearer ${TOKEN}`,
      origin: "https://evil.example",
      "sec-fetch-site": "cross-site",
    };
    expect((await server.post("/api/signin-links", undefined, headers)).status).toBe(200);
    const session = await signIn(server);
    const answer = await server.post("/api/signin-links", undefined, {
      ...headers,
      ...session,
      authorization: `Bearer ${wrongToken(1)}`,
    });
    await rejection(answer, 401, "invalid_token");
  });

  test("do not matter when reading", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    expect(
      (
        await server.get("/api/status", {
          ...session,
          origin: "https://evil.example",
          "sec-fetch-site": "cross-site",
        })
      ).status,
    ).toBe(200);
    expect(
      (await server.get("/api/status", { ...session, origin: "null" })).headers.get(
        "access-control-allow-origin",
      ),
    ).toBeNull();
  });
});
