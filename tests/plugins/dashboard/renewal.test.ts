// Tests that a sign-in cannot renew itself: its links and their sign-ins share its end.
import { describe, expect, test } from "vitest";
import {
  START_TIME,
  DAY,
  TOKEN,
  cookieFrom,
  isSignedIn,
  rejection,
  setCookieOf,
  signIn,
  startDashboard,
  type DashboardServer,
  type HeaderLines,
} from "../../support/dashboard-server.ts";

interface Made {
  readonly link: string;
  readonly expiresAt: string;
  readonly endsAt?: string;
}

async function linkOf(server: DashboardServer, headers: HeaderLines): Promise<Made> {
  const answer = await server.post("/api/signin-links", undefined, headers);
  expect(answer.status).toBe(200);
  const { url, ...times } = (await answer.json()) as { url: string; expiresAt: string };
  return { link: url.split("link=")[1]!, ...times };
}

/** Signs in with a link that the session of `headers` created. */
async function throughLink(
  server: DashboardServer,
  headers: HeaderLines,
): Promise<{ cookie: string }> {
  const { link } = await linkOf(server, headers);
  const answer = await server.post("/login", { token: link });
  expect(answer.status).toBe(200);
  return { cookie: cookieFrom(answer) };
}

const endings = (server: DashboardServer): unknown[] =>
  server.facts
    .filter(({ type }) => type === "dashboard:signed-out")
    .map(({ fact }) => fact["reason"]);
const bearer = { authorization: `Bearer ${TOKEN}` };

describe("sign-in through a link of a sign-in", () => {
  test("ends no later than its maker", async () => {
    await using server = await startDashboard();
    const maker = await signIn(server);
    server.clock.increment(3 * DAY);
    const { link, endsAt } = await linkOf(server, maker);
    expect(endsAt).toBe(new Date(START_TIME + 7 * DAY).toISOString());
    const answer = await server.post("/login", { token: link });
    expect(await answer.json()).toMatchObject({ expiresAt: endsAt });
    expect(setCookieOf(answer)).toContain(`; Max-Age=${4 * 86_400};`);
    const child = { cookie: cookieFrom(answer) };
    const grandchild = await throughLink(server, child);
    server.clock.increment(4 * DAY - 1);
    expect([await isSignedIn(server, child), await isSignedIn(server, grandchild)]).toEqual([
      true,
      true,
    ]);
    server.clock.increment(1);
    expect([await isSignedIn(server, child), await isSignedIn(server, grandchild)]).toEqual([
      false,
      false,
    ]);
    expect(endings(server)).toEqual(["expired", "expired", "expired"]);
  });

  test("ends with its maker, as do its own links", async () => {
    await using server = await startDashboard();
    const [maker, other] = [await signIn(server), await signIn(server)];
    const child = await throughLink(server, maker);
    const grandchild = await throughLink(server, child);
    await server.post("/logout", {}, maker);
    expect([await isSignedIn(server, child), await isSignedIn(server, grandchild)]).toEqual([
      false,
      false,
    ]);
    expect(endings(server)).toEqual(["sign-out", "maker-ended", "maker-ended"]);
    expect(await isSignedIn(server, other)).toBe(true);
  });

  test("leaves its maker alone at sign-out", async () => {
    await using server = await startDashboard();
    const maker = await signIn(server);
    const child = await throughLink(server, maker);
    await server.post("/logout", {}, child);
    expect([await isSignedIn(server, maker), await isSignedIn(server, child)]).toEqual([
      true,
      false,
    ]);
  });

  test("names its maker in the list", async () => {
    await using server = await startDashboard();
    const maker = await signIn(server);
    await throughLink(server, maker);
    const { sessions } = (await (await server.get("/api/sessions", maker)).json()) as {
      sessions: { id: string; maker?: string }[];
    };
    expect(sessions[0]!.maker).toBe(sessions[1]!.id);
    expect(sessions[1]).not.toHaveProperty("maker");
  });

  test("evicts no sign-in that it depends on", async () => {
    await using server = await startDashboard();
    const maker = await signIn(server);
    server.clock.increment(1_000);
    const { link } = await linkOf(server, maker);
    for (let n = 0; n < 24; n += 1) {
      server.clock.increment(1_000);
      await isSignedIn(server, await signIn(server));
    }
    const answer = await server.post("/login", { token: link });
    expect(await isSignedIn(server, { cookie: cookieFrom(answer) })).toBe(true);
    expect([await isSignedIn(server, maker), endings(server)]).toEqual([true, ["evicted"]]);
  });

  test("keeps the sign-in of a browser that has one", async () => {
    await using server = await startDashboard();
    const maker = await signIn(server);
    const { link } = await linkOf(server, maker);
    const answer = await server.post("/login", { token: link }, maker);
    expect([answer.status, setCookieOf(answer)]).toEqual([200, undefined]);
    expect(await isSignedIn(server, maker)).toBe(true);
    await rejection(await server.post("/login", { token: link }), 401, "invalid_token");
    expect(endings(server)).toEqual([]);
  });
});

describe("sign-in link of a browser", () => {
  test.each([
    [
      "a sign-out",
      (server: DashboardServer, maker: HeaderLines) => server.post("/logout", {}, maker),
    ],
    [
      "a revocation",
      (server: DashboardServer) =>
        server.request("/api/sessions", { method: "DELETE", headers: bearer }),
    ],
    ["expiry", async (server: DashboardServer) => server.clock.increment(DAY / 2)],
  ])("ends with its maker by %s", async (_, end) => {
    await using server = await startDashboard({ launcher: { session_days: 0.5 } });
    const maker = await signIn(server);
    server.clock.increment(DAY / 2 - 60_000);
    const { link, expiresAt } = await linkOf(server, maker);
    expect(expiresAt).toBe(new Date(START_TIME + DAY / 2).toISOString());
    await end(server, maker);
    await rejection(await server.post("/login", { token: link }), 401, "invalid_token");
    expect((await server.open(`/?token=${link}`)).headers.get("location")).toBe(
      "/login?error=link_expired",
    );
  });
});

describe("sign-in link of the owner", () => {
  test.each([
    [
      "the launcher",
      async (server: DashboardServer) => server.kernel.services.signInLinks.mint().path,
    ],
    [
      "a Bearer",
      async (server: DashboardServer) => `/?token=${(await linkOf(server, bearer)).link}`,
    ],
  ])("opens a sign-in of full lifetime: created by %s", async (_, mint) => {
    await using server = await startDashboard();
    const session = await signIn(server);
    server.clock.increment(3 * DAY);
    const path = await mint(server);
    await server.post("/logout", {}, session);
    const answer = await server.open(path);
    expect(answer.status).toBe(303);
    const cookie = { cookie: cookieFrom(answer) };
    server.clock.increment(7 * DAY - 1);
    expect(await isSignedIn(server, cookie)).toBe(true);
  });
});

describe("sign-in of a signed-in browser", () => {
  test("replaces the sign-in of its cookie", async () => {
    await using server = await startDashboard();
    const [before, other] = [await signIn(server), await signIn(server)];
    const child = await throughLink(server, before);
    const answer = await server.post("/login", { token: TOKEN }, before);
    const after = { cookie: cookieFrom(answer) };
    expect(await isSignedIn(server, after)).toBe(true);
    expect(await isSignedIn(server, before)).toBe(false);
    expect(await isSignedIn(server, other)).toBe(true);
    expect(await isSignedIn(server, child)).toBe(false);
    expect(endings(server)).toEqual(["replaced", "maker-ended"]);
    expect(server.lines.filter(({ reason }) => reason === "replaced")).toHaveLength(1);
  });

  test("replaces each sign-in if the cookie occurs twice", async () => {
    await using server = await startDashboard();
    const both = [(await signIn(server)).cookie, (await signIn(server)).cookie].join("; ");
    await server.post("/login", { token: TOKEN }, { cookie: both });
    expect(endings(server)).toEqual(["replaced", "replaced"]);
    expect(await isSignedIn(server, { cookie: both })).toBe(false);
  });

  test("keeps the sign-in if the token or cookie is invalid", async () => {
    await using server = await startDashboard();
    const before = await signIn(server);
    await server.post("/login", { token: "not-the-token-of-this-launcher" }, before);
    await server.post("/login", { token: TOKEN }, { cookie: before.cookie.slice(0, -2) });
    expect(endings(server)).toEqual([]);
    expect(await isSignedIn(server, before)).toBe(true);
  });
});
