import { describe, expect, test } from "vitest";
import {
  TOKEN,
  block,
  cookieFrom,
  setupBackend,
  isSignedIn,
  createLoginLink,
  opened,
  rejection,
  setCookieOf,
  signIn,
  startDashboard,
  wrongToken,
  type DashboardServer,
} from "../../../../support/dashboard-server.ts";

const where = (answer: Response): [number, string | null] => [
  answer.status,
  answer.headers.get("location"),
];
/** Whether one of the two allowed attempts was used: the second wrong token is still compared. */
async function expectNothingCounted(server: DashboardServer): Promise<void> {
  await rejection(await server.post("/login", { token: wrongToken(99) }), 401, "invalid_token");
  expect(server.facts.map(({ fact }) => fact["via"])).toEqual(["form"]);
}

describe("GET /?token= with the correct token", () => {
  test("signs in and removes the token from the address, uncached", async () => {
    await using server = await startDashboard();
    for (const [path, location] of [
      [`/?token=${TOKEN}`, "/"],
      [`/?a=1&token=${TOKEN}&b=%20x`, "/?a=1&b=+x"],
      [`//?token=${TOKEN}`, "/"],
      [`/./?token=%20${TOKEN}%0A`, "/"],
    ] as const) {
      const answer = await server.open(path);
      expect(where(answer)).toEqual([303, location]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
      expect(await isSignedIn(server, { cookie: cookieFrom(answer) })).toBe(true);
    }
    expect(where(await server.get(`/?token=${TOKEN}`))).toEqual([303, "/"]);
    expect(server.facts[0]).toMatchObject({ type: "dashboard:signed-in", fact: { via: "query" } });
  });

  test("has no effect on other paths", async () => {
    await using server = await startDashboard();
    for (const path of ["/login", "/nowhere", "/api/status", "/setup"]) {
      const answer = await server.open(`${path}?token=${TOKEN}`);
      expect(setCookieOf(answer)).toBeUndefined();
    }
    expect(server.facts).toEqual([]);
  });
});

describe("GET /?token= without a user", () => {
  test.each([
    ["an image", { "sec-fetch-dest": "image", "sec-fetch-mode": "no-cors" }],
    ["a frame", { "sec-fetch-dest": "iframe" }],
    ["a script's request", { "sec-fetch-dest": "empty", "sec-fetch-mode": "cors" }],
    ["a prefetch", { "sec-purpose": "prefetch" }],
    ["a prerender", { "sec-purpose": "prefetch;prerender" }],
  ])("ignores the token and counts nothing: %s", async (_, headers) => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (const token of [TOKEN, wrongToken(1), wrongToken(2), createLoginLink(server)]) {
      const answer = await server.open(`/?token=${token}`, headers);
      expect(where(answer)).toEqual([302, "/login?next=%2F"]);
      expect(setCookieOf(answer)).toBeUndefined();
    }
    await expectNothingCounted(server);
  });

  test("treats an empty value as no token", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (const query of ["?token=", "?token", "?token=%20"]) {
      expect(where(await server.open(`/${query}`))).toEqual([302, "/login?next=%2F"]);
      await rejection(await server.get(`/${query}`), 401, "unauthorized");
    }
    await expectNothingCounted(server);
  });

  test("ignores the token for HEAD, links included", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    const link = createLoginLink(server);
    for (const token of [TOKEN, link, wrongToken(1), wrongToken(2)]) {
      const answer = await server.request(`/?token=${token}`, { method: "HEAD", headers: opened });
      expect(setCookieOf(answer)).toBeUndefined();
      expect(await answer.text()).toBe("");
    }
    await expectNothingCounted(server);
    expect(where(await server.open(`/?token=${link}`))).toEqual([303, "/"]);
  });
});

describe("GET /?token= with a session", () => {
  test("keeps the session and checks neither token nor link", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    const session = await signIn(server);
    const link = createLoginLink(server);
    for (const token of [wrongToken(1), wrongToken(2), link]) {
      const answer = await server.open(`/?token=${token}&a=1`, session);
      expect(where(answer)).toEqual([303, "/?a=1"]);
      expect(setCookieOf(answer)).toBeUndefined();
    }
    expect(await isSignedIn(server, session)).toBe(true);
    expect(where(await server.open(`/?token=${link}`))).toEqual([303, "/"]);
  });
});

describe("GET /?token= with a wrong token", () => {
  test("counts an attempt and never repeats the value", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 2 } });
    const browser = await server.open(`/?token=${wrongToken(1)}&a=1`);
    expect(where(browser)).toEqual([302, "/login?error=invalid_token"]);
    const program = await server.get(`/?token=${wrongToken(2)}`);
    expect(JSON.stringify([...browser.headers, ...program.headers])).not.toContain("wrong-token");
    expect(JSON.stringify(await rejection(program, 401, "invalid_token"))).not.toContain(
      "wrong-token",
    );
    expect(program.headers.get("www-authenticate")).toBe('Bearer realm="launcher"');
    expect(where(await server.open(`/?token=${wrongToken(3)}`))).toEqual([
      302,
      "/login?error=rate_limited",
    ]);
    expect(server.logged()).not.toContain("wrong-token");
  });

  test("redirects to a message during a block, or answers 429", async () => {
    await using server = await startDashboard();
    await block(server);
    expect(where(await server.open(`/?token=${wrongToken(1)}`))).toEqual([
      302,
      "/login?error=rate_limited",
    ]);
    const answer = await server.get(`/?token=${wrongToken(1)}`);
    expect(answer.headers.get("retry-after")).toBe("60");
    await rejection(answer, 429, "rate_limited");
  });

  test("answers 400 without comparison if the token is repeated", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    const session = await signIn(server);
    server.facts.length = 0;
    for (const query of [
      `token=${TOKEN}&token=${TOKEN}`,
      `token=${wrongToken(1)}&a=1&token=${wrongToken(2)}`,
      `token=&token=${TOKEN}`,
    ]) {
      const answer = await server.get(`/?${query}`);
      expect(setCookieOf(answer)).toBeUndefined();
      await rejection(answer, 400, "invalid_body");
      expect((await server.open(`/?${query}`)).status).toBe(400);
      expect((await server.open(`/?${query}`, session)).status).toBe(400);
    }
    await expectNothingCounted(server);
  });
});

describe("GET /?token=ott_…", () => {
  test("signs in once with a live link", async () => {
    await using server = await startDashboard();
    const link = createLoginLink(server);
    const answer = await server.open(`/?token=${link}&a=1`);
    expect(where(answer)).toEqual([303, "/?a=1"]);
    expect(await isSignedIn(server, { cookie: cookieFrom(answer) })).toBe(true);
    expect(server.facts[0]).toMatchObject({ type: "dashboard:signed-in", fact: { via: "link" } });
    expect(where(await server.open(`/?token=${link}`))).toEqual([302, "/login?error=link_expired"]);
    await rejection(await server.get(`/?token=${link}`), 401, "invalid_token");
  });

  test("shows that a link has expired and counts nothing", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (let n = 0; n < 5; n += 1) {
      expect(where(await server.open(`/?token=ott_${n}`))).toEqual([
        302,
        "/login?error=link_expired",
      ]);
    }
    expect(await (await server.open("/login?error=link_expired")).text()).toContain(
      "used already or is too old",
    );
    await rejection(await server.post("/login", { token: wrongToken(1) }), 401, "invalid_token");
  });

  test("works during a block", async () => {
    await using server = await startDashboard();
    await block(server);
    expect(where(await server.open(`/?token=${createLoginLink(server)}`))).toEqual([303, "/"]);
  });
});

describe("GET /?token= during setup", () => {
  test("sets the setup cookie for the token or a live link", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    for (const token of [TOKEN, createLoginLink(server)]) {
      const answer = await server.open(`/?token=${token}`);
      expect(where(answer)).toEqual([303, "/setup"]);
      expect(setCookieOf(answer)).toBeUndefined();
      expect(cookieFrom(answer, "setup")).toMatch(/=./);
    }
  });

  test("counts a wrong token and redirects to a message", async () => {
    await using server = await startDashboard({
      form: setupBackend(),
      launcher: { login_attempts_per_minute: 2 },
    });
    expect(where(await server.open(`/?token=${wrongToken(1)}`))).toEqual([
      302,
      "/setup?error=invalid_code",
    ]);
    expect((await server.get(`/?token=${wrongToken(2)}`)).status).toBe(401);
    expect(where(await server.open(`/?token=${wrongToken(3)}`))).toEqual([
      302,
      "/setup?error=rate_limited",
    ]);
    expect(await (await server.open("/setup?error=invalid_code")).text()).toContain(
      "That is not the generated token",
    );
    expect(await (await server.open("/setup?error=rate_limited")).text()).toContain(
      'data-countdown="60"',
    );
  });
});

describe("GET /?token= from another site", () => {
  const elsewhere = { "sec-fetch-site": "cross-site" };

  test("signs in with the correct token, as from an email", async () => {
    await using server = await startDashboard();
    expect(where(await server.open(`/?token=${TOKEN}`, elsewhere))).toEqual([303, "/"]);
  });

  test.each(["cross-site", "same-site"])("uses at most half of the attempts: %s", async (site) => {
    await using server = await startDashboard();
    for (let n = 0; n < 8; n++)
      await server.open(`/?token=${wrongToken(n)}`, { "sec-fetch-site": site });
    const last = await server.open(`/?token=${wrongToken(9)}`, { "sec-fetch-site": site });
    expect(where(last)).toEqual([302, "/login?error=rate_limited"]);
    for (let n = 20; n < 25; n++) {
      await rejection(await server.post("/login", { token: wrongToken(n) }), 401, "invalid_token");
    }
    await rejection(await server.post("/login", { token: wrongToken(26) }), 429, "rate_limited");
  });

  test("uses at most half of the attempts by forms without origin", async () => {
    await using server = await startDashboard();
    for (let n = 0; n < 5; n++) {
      expect(
        (await server.form("/login", { token: wrongToken(n) }, { origin: "null" })).status,
      ).toBe(401);
    }
    expect((await server.form("/login", { token: wrongToken(6) }, { origin: "null" })).status).toBe(
      429,
    );
    await rejection(await server.post("/login", { token: wrongToken(7) }), 401, "invalid_token");
    expect((await server.form("/login", { token: TOKEN }, { origin: "null" })).status).toBe(303);
  });
});
