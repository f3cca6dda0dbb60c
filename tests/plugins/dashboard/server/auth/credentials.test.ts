import { describe, expect, test } from "vitest";
import {
  TOKEN,
  cookieFrom,
  setupBackend,
  isSignedIn,
  createLoginLink,
  rejection,
  signIn,
  startDashboard,
  wrongToken,
} from "../../../../support/dashboard-server.ts";

describe("createSignInLinks", () => {
  test("offers ott_ and 32 random bytes in two addresses", async () => {
    await using server = await startDashboard();
    const { path, copyPath, expiresAt } = server.kernel.services.signInLinks.mint();
    expect(path).toMatch(/^\/\?token=ott_[\w-]{43}$/);
    expect(copyPath).toBe(path.replace("/?token=", "/login?link="));
    expect(expiresAt).toBe(server.clock.now() + 300_000);
    expect(createLoginLink(server)).not.toBe(createLoginLink(server));
  });

  test("opens the requested page of this site, with and without a session", async () => {
    await using server = await startDashboard();
    const { mint } = server.kernel.services.signInLinks;
    expect(mint("/tokens").path).toMatch(/^\/\?token=ott_[\w-]{43}&next=%2Ftokens$/);
    const answer = await server.open(mint("/tokens").path);
    expect(answer.headers.get("location")).toBe("/tokens");
    const headers = { cookie: cookieFrom(answer) };
    expect((await server.open(mint("/log").path, headers)).headers.get("location")).toBe("/log");
    expect((await server.open(mint("//elsewhere.example").path)).headers.get("location")).toBe("/");
    expect(await (await server.open(mint("/tokens").copyPath)).text()).toContain(
      'name="next" value="/tokens"',
    );
  });

  test("expires after five minutes", async () => {
    await using server = await startDashboard();
    const [early, late] = [createLoginLink(server), createLoginLink(server)];
    server.clock.increment(299_999);
    expect((await server.open(`/?token=${early}`)).status).toBe(303);
    server.clock.increment(1);
    expect((await server.open(`/?token=${late}`)).headers.get("location")).toBe(
      "/login?error=link_expired",
    );
  });

  test("expires on time even if the clock is set back", async () => {
    await using server = await startDashboard();
    let passed = 0;
    Object.assign(server.clock, { monotonic: () => passed });
    const [early, late] = [createLoginLink(server), createLoginLink(server)];
    passed = 299_999.9;
    expect((await server.open(`/?token=${early}`)).status).toBe(303);
    passed = 300_000;
    expect((await server.open(`/?token=${late}`)).headers.get("location")).toBe(
      "/login?error=link_expired",
    );
  });

  test("redeems a link once among parallel requests", async () => {
    await using server = await startDashboard();
    const link = createLoginLink(server);
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, () => server.get(`/?token=${link}`)),
      ...Array.from({ length: 5 }, () => server.post("/login", { token: link })),
    ]);
    expect(answers.filter(({ status }) => status === 303 || status === 200)).toHaveLength(1);
  });

  test("invalidates links when the launcher token is rotated", async () => {
    await using server = await startDashboard();
    const link = createLoginLink(server);
    const { tokens, tokenSecrets } = server.kernel.services;
    await tokenSecrets.replace("launcher", {
      value: "another-token-of-mine",
      expect: tokens.info("launcher").version,
    });
    await rejection(await server.post("/login", { token: link }), 401, "invalid_token");
    expect((await server.post("/login", { token: createLoginLink(server) })).status).toBe(200);
  });

  test("drops the oldest link when the 21st is created", async () => {
    await using server = await startDashboard();
    const links = Array.from({ length: 21 }, () => createLoginLink(server));
    expect((await server.post("/login", { token: links[0]! })).status).toBe(401);
    for (const link of links.slice(1))
      expect((await server.post("/login", { token: link })).status).toBe(200);
  });

  test("rejects a link as Bearer and as setup code", async () => {
    await using server = await startDashboard();
    const link = createLoginLink(server);
    await rejection(
      await server.get("/api/status", { authorization: `Bearer ${link}` }),
      401,
      "invalid_token",
    );
    expect((await server.open(`/?token=${link}`)).status).toBe(303);
  });
});

describe("GET /login?link=", () => {
  test("shows a button that posts the link, without redeeming it", async () => {
    await using server = await startDashboard();
    const link = createLoginLink(server);
    for (let time = 0; time < 3; time += 1) {
      const answer = await server.open(`/login?link=${link}`);
      expect(answer.status).toBe(200);
      const text = await answer.text();
      expect(text).toContain(`<input type="hidden" name="token" value="${link}"/>`);
      expect(text.match(/<button/g)).toHaveLength(1);
      await server.request(`/login?link=${link}`, { method: "HEAD" });
    }
    const answer = await server.form("/login", { token: link });
    expect(await isSignedIn(server, { cookie: cookieFrom(answer) })).toBe(true);
  });

  test("shows the same page for signed-in browsers and invalid links", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    for (const link of [createLoginLink(server), `ott_${"x".repeat(43)}`]) {
      const answer = await server.open(`/login?link=${link}`, session);
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain(link);
    }
  });

  test("continues to setup only after the button was pressed", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const link = createLoginLink(server);
    const page = await server.open(`/login?link=${link}`);
    expect([page.status, page.headers.getSetCookie()]).toEqual([200, []]);
    const answer = await server.form("/login", { token: link }, { origin: "null" });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/setup"]);
    expect(cookieFrom(answer, "setup")).toMatch(/=./);
  });

  test("omits a value that does not look like a link", async () => {
    await using server = await startDashboard();
    for (const link of [TOKEN, wrongToken(1), "ott_%22%3E%3Cscript%3E", `ott_${"x".repeat(200)}`]) {
      const text = await (await server.open(`/login?link=${link}`)).text();
      expect(text).not.toContain(TOKEN);
      expect(text).not.toContain("<script>");
      expect(text).not.toContain('name="token" value=');
    }
  });
});

describe("POST /api/signin-links", () => {
  test("returns a copy link with the origin of the browser", async () => {
    await using server = await startDashboard({
      launcher: { trusted_proxies: ["127.0.0.1"], allowed_hosts: ["door.example.org"] },
    });
    const session = await signIn(server);
    const answer = await server.post("/api/signin-links", undefined, session);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const { url, expiresAt } = (await answer.json()) as { url: string; expiresAt: string };
    expect(url.startsWith(`${server.origin}/login?link=ott_`)).toBe(true);
    expect(expiresAt).toBe(new Date(server.clock.now() + 300_000).toISOString());
    expect((await server.post("/login", { token: url.split("link=")[1]! })).status).toBe(200);
    const proxied = { "x-forwarded-proto": "https", "x-forwarded-host": "door.example.org" };
    const bearer = { authorization: `Bearer ${TOKEN}` };
    const other = (await (
      await server.post("/api/signin-links", {}, { ...proxied, ...bearer })
    ).json()) as { url: string };
    expect(other.url).toMatch(/^https:\/\/door\.example\.org\/login\?link=ott_/);
  });

  test("requires a session or Bearer", async () => {
    await using server = await startDashboard();
    await rejection(await server.post("/api/signin-links", undefined), 401, "unauthorized");
  });
});
