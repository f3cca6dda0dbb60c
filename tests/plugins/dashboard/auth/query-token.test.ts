import { describe, expect, test } from "vitest";
import {
  TOKEN,
  block,
  cookieFrom,
  inSetup,
  isIn,
  mintLink,
  opened,
  refusal,
  setCookieOf,
  signedIn,
  startDashboard,
  wrong,
  type DashboardStand,
} from "../../../support/dashboard-server.ts";

const where = (answer: Response): [number, string | null] => [
  answer.status,
  answer.headers.get("location"),
];
/** Whether one of the two allowed attempts was used: the second wrong token is still compared. */
async function expectNothingCounted(stand: DashboardStand): Promise<void> {
  await refusal(await stand.post("/login", { token: wrong(99) }), 401, "invalid_token");
  expect(stand.facts.map(({ fact }) => fact["via"])).toEqual(["form"]);
}

describe("GET /?token= with the correct token", () => {
  test("signs in and removes the token from the address, uncached", async () => {
    await using stand = await startDashboard();
    for (const [path, location] of [
      [`/?token=${TOKEN}`, "/"],
      [`/?a=1&token=${TOKEN}&b=%20x`, "/?a=1&b=+x"],
      [`//?token=${TOKEN}`, "/"],
      [`/./?token=%20${TOKEN}%0A`, "/"],
    ] as const) {
      const answer = await stand.open(path);
      expect(where(answer)).toEqual([303, location]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
      expect(await isIn(stand, { cookie: cookieFrom(answer) })).toBe(true);
    }
    expect(where(await stand.get(`/?token=${TOKEN}`))).toEqual([303, "/"]);
    expect(stand.facts[0]).toMatchObject({ type: "dashboard:signed-in", fact: { via: "query" } });
  });

  test("has no effect on other paths", async () => {
    await using stand = await startDashboard();
    for (const path of ["/login", "/nowhere", "/api/status", "/setup"]) {
      const answer = await stand.open(`${path}?token=${TOKEN}`);
      expect(setCookieOf(answer)).toBeUndefined();
    }
    expect(stand.facts).toEqual([]);
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
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (const token of [TOKEN, wrong(1), wrong(2), mintLink(stand)]) {
      const answer = await stand.open(`/?token=${token}`, headers);
      expect(where(answer)).toEqual([302, "/login?next=%2F"]);
      expect(setCookieOf(answer)).toBeUndefined();
    }
    await expectNothingCounted(stand);
  });

  test("treats an empty value as no token", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (const query of ["?token=", "?token", "?token=%20"]) {
      expect(where(await stand.open(`/${query}`))).toEqual([302, "/login?next=%2F"]);
      await refusal(await stand.get(`/${query}`), 401, "unauthorized");
    }
    await expectNothingCounted(stand);
  });

  test("ignores the token for HEAD, links included", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    const link = mintLink(stand);
    for (const token of [TOKEN, link, wrong(1), wrong(2)]) {
      const answer = await stand.request(`/?token=${token}`, { method: "HEAD", headers: opened });
      expect(setCookieOf(answer)).toBeUndefined();
      expect(await answer.text()).toBe("");
    }
    await expectNothingCounted(stand);
    expect(where(await stand.open(`/?token=${link}`))).toEqual([303, "/"]);
  });
});

describe("GET /?token= with a session", () => {
  test("keeps the session and checks neither token nor link", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    const session = await signedIn(stand);
    const link = mintLink(stand);
    for (const token of [wrong(1), wrong(2), link]) {
      const answer = await stand.open(`/?token=${token}&a=1`, session);
      expect(where(answer)).toEqual([303, "/?a=1"]);
      expect(setCookieOf(answer)).toBeUndefined();
    }
    expect(await isIn(stand, session)).toBe(true);
    expect(where(await stand.open(`/?token=${link}`))).toEqual([303, "/"]);
  });
});

describe("GET /?token= with a wrong token", () => {
  test("counts an attempt and never repeats the value", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 2 } });
    const browser = await stand.open(`/?token=${wrong(1)}&a=1`);
    expect(where(browser)).toEqual([302, "/login?error=invalid_token"]);
    const program = await stand.get(`/?token=${wrong(2)}`);
    expect(JSON.stringify([...browser.headers, ...program.headers])).not.toContain("wrong-token");
    expect(JSON.stringify(await refusal(program, 401, "invalid_token"))).not.toContain(
      "wrong-token",
    );
    expect(program.headers.get("www-authenticate")).toBe('Bearer realm="launcher"');
    expect(where(await stand.open(`/?token=${wrong(3)}`))).toEqual([
      302,
      "/login?error=rate_limited",
    ]);
    expect(stand.logged()).not.toContain("wrong-token");
  });

  test("redirects to a message during a block, or answers 429", async () => {
    await using stand = await startDashboard();
    await block(stand);
    expect(where(await stand.open(`/?token=${wrong(1)}`))).toEqual([
      302,
      "/login?error=rate_limited",
    ]);
    const answer = await stand.get(`/?token=${wrong(1)}`);
    expect(answer.headers.get("retry-after")).toBe("60");
    await refusal(answer, 429, "rate_limited");
  });

  test("answers 400 without comparison if the token is repeated", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    const session = await signedIn(stand);
    stand.facts.length = 0;
    for (const query of [
      `token=${TOKEN}&token=${TOKEN}`,
      `token=${wrong(1)}&a=1&token=${wrong(2)}`,
      `token=&token=${TOKEN}`,
    ]) {
      const answer = await stand.get(`/?${query}`);
      expect(setCookieOf(answer)).toBeUndefined();
      await refusal(answer, 400, "invalid_body");
      expect((await stand.open(`/?${query}`)).status).toBe(400);
      expect((await stand.open(`/?${query}`, session)).status).toBe(400);
    }
    await expectNothingCounted(stand);
  });
});

describe("GET /?token=ott_…", () => {
  test("signs in once with a live link", async () => {
    await using stand = await startDashboard();
    const link = mintLink(stand);
    const answer = await stand.open(`/?token=${link}&a=1`);
    expect(where(answer)).toEqual([303, "/?a=1"]);
    expect(await isIn(stand, { cookie: cookieFrom(answer) })).toBe(true);
    expect(stand.facts[0]).toMatchObject({ type: "dashboard:signed-in", fact: { via: "link" } });
    expect(where(await stand.open(`/?token=${link}`))).toEqual([302, "/login?error=link_expired"]);
    await refusal(await stand.get(`/?token=${link}`), 401, "invalid_token");
  });

  test("shows that a link has expired and counts nothing", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    for (let n = 0; n < 5; n += 1) {
      expect(where(await stand.open(`/?token=ott_${n}`))).toEqual([
        302,
        "/login?error=link_expired",
      ]);
    }
    expect(await (await stand.open("/login?error=link_expired")).text()).toContain(
      "used already or is too old",
    );
    await refusal(await stand.post("/login", { token: wrong(1) }), 401, "invalid_token");
  });

  test("works during a block", async () => {
    await using stand = await startDashboard();
    await block(stand);
    expect(where(await stand.open(`/?token=${mintLink(stand)}`))).toEqual([303, "/"]);
  });
});

describe("GET /?token= during setup", () => {
  test("sets the setup cookie for the token or a live link", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    for (const token of [TOKEN, mintLink(stand)]) {
      const answer = await stand.open(`/?token=${token}`);
      expect(where(answer)).toEqual([303, "/setup"]);
      expect(setCookieOf(answer)).toBeUndefined();
      expect(cookieFrom(answer, "setup")).toMatch(/=./);
    }
  });

  test("counts a wrong token and redirects to a message", async () => {
    await using stand = await startDashboard({
      form: inSetup(),
      launcher: { login_attempts_per_minute: 2 },
    });
    expect(where(await stand.open(`/?token=${wrong(1)}`))).toEqual([
      302,
      "/setup?error=invalid_code",
    ]);
    expect((await stand.get(`/?token=${wrong(2)}`)).status).toBe(401);
    expect(where(await stand.open(`/?token=${wrong(3)}`))).toEqual([
      302,
      "/setup?error=rate_limited",
    ]);
    expect(await (await stand.open("/setup?error=invalid_code")).text()).toContain(
      "That is not the generated token",
    );
    expect(await (await stand.open("/setup?error=rate_limited")).text()).toContain(
      'data-countdown="60"',
    );
  });
});

describe("GET /?token= from another site", () => {
  const elsewhere = { "sec-fetch-site": "cross-site" };

  test("signs in with the correct token, as from an email", async () => {
    await using stand = await startDashboard();
    expect(where(await stand.open(`/?token=${TOKEN}`, elsewhere))).toEqual([303, "/"]);
  });

  test.each(["cross-site", "same-site"])("uses at most half of the attempts: %s", async (site) => {
    await using stand = await startDashboard();
    for (let n = 0; n < 8; n++) await stand.open(`/?token=${wrong(n)}`, { "sec-fetch-site": site });
    const last = await stand.open(`/?token=${wrong(9)}`, { "sec-fetch-site": site });
    expect(where(last)).toEqual([302, "/login?error=rate_limited"]);
    for (let n = 20; n < 25; n++) {
      await refusal(await stand.post("/login", { token: wrong(n) }), 401, "invalid_token");
    }
    await refusal(await stand.post("/login", { token: wrong(26) }), 429, "rate_limited");
  });

  test("uses at most half of the attempts by forms without origin", async () => {
    await using stand = await startDashboard();
    for (let n = 0; n < 5; n++) {
      expect((await stand.form("/login", { token: wrong(n) }, { origin: "null" })).status).toBe(
        401,
      );
    }
    expect((await stand.form("/login", { token: wrong(6) }, { origin: "null" })).status).toBe(429);
    await refusal(await stand.post("/login", { token: wrong(7) }), 401, "invalid_token");
    expect((await stand.form("/login", { token: TOKEN }, { origin: "null" })).status).toBe(303);
  });
});
