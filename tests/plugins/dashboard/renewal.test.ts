// Tests that a sign-in cannot renew itself: its links and their sign-ins share its end.
import { describe, expect, test } from "vitest";
import {
  BEGAN,
  DAY,
  TOKEN,
  cookieFrom,
  isIn,
  refusal,
  setCookieOf,
  signedIn,
  startDashboard,
  type DashboardStand,
  type Lines,
} from "../../support/dashboard-server.ts";

interface Made {
  readonly link: string;
  readonly expiresAt: string;
  readonly endsAt?: string;
}

async function linkOf(stand: DashboardStand, headers: Lines): Promise<Made> {
  const answer = await stand.post("/api/signin-links", undefined, headers);
  expect(answer.status).toBe(200);
  const { url, ...times } = (await answer.json()) as { url: string; expiresAt: string };
  return { link: url.split("link=")[1]!, ...times };
}

/** Signs in with a link that the session of `headers` created. */
async function throughLink(stand: DashboardStand, headers: Lines): Promise<{ cookie: string }> {
  const { link } = await linkOf(stand, headers);
  const answer = await stand.post("/login", { token: link });
  expect(answer.status).toBe(200);
  return { cookie: cookieFrom(answer) };
}

const endings = (stand: DashboardStand): unknown[] =>
  stand.facts
    .filter(({ type }) => type === "dashboard:signed-out")
    .map(({ fact }) => fact["reason"]);
const bearer = { authorization: `Bearer ${TOKEN}` };

describe("sign-in through a link of a sign-in", () => {
  test("ends no later than its maker", async () => {
    await using stand = await startDashboard();
    const maker = await signedIn(stand);
    stand.clock.increment(3 * DAY);
    const { link, endsAt } = await linkOf(stand, maker);
    expect(endsAt).toBe(new Date(BEGAN + 7 * DAY).toISOString());
    const answer = await stand.post("/login", { token: link });
    expect(await answer.json()).toMatchObject({ expiresAt: endsAt });
    expect(setCookieOf(answer)).toContain(`; Max-Age=${4 * 86_400};`);
    const child = { cookie: cookieFrom(answer) };
    const grandchild = await throughLink(stand, child);
    stand.clock.increment(4 * DAY - 1);
    expect([await isIn(stand, child), await isIn(stand, grandchild)]).toEqual([true, true]);
    stand.clock.increment(1);
    expect([await isIn(stand, child), await isIn(stand, grandchild)]).toEqual([false, false]);
    expect(endings(stand)).toEqual(["expired", "expired", "expired"]);
  });

  test("ends with its maker, as do its own links", async () => {
    await using stand = await startDashboard();
    const [maker, other] = [await signedIn(stand), await signedIn(stand)];
    const child = await throughLink(stand, maker);
    const grandchild = await throughLink(stand, child);
    await stand.post("/logout", {}, maker);
    expect([await isIn(stand, child), await isIn(stand, grandchild)]).toEqual([false, false]);
    expect(endings(stand)).toEqual(["sign-out", "maker-ended", "maker-ended"]);
    expect(await isIn(stand, other)).toBe(true);
  });

  test("leaves its maker alone at sign-out", async () => {
    await using stand = await startDashboard();
    const maker = await signedIn(stand);
    const child = await throughLink(stand, maker);
    await stand.post("/logout", {}, child);
    expect([await isIn(stand, maker), await isIn(stand, child)]).toEqual([true, false]);
  });

  test("names its maker in the list", async () => {
    await using stand = await startDashboard();
    const maker = await signedIn(stand);
    await throughLink(stand, maker);
    const { sessions } = (await (await stand.get("/api/sessions", maker)).json()) as {
      sessions: { id: string; maker?: string }[];
    };
    expect(sessions[0]!.maker).toBe(sessions[1]!.id);
    expect(sessions[1]).not.toHaveProperty("maker");
  });

  test("evicts no sign-in that it depends on", async () => {
    await using stand = await startDashboard();
    const maker = await signedIn(stand);
    stand.clock.increment(1_000);
    const { link } = await linkOf(stand, maker);
    for (let n = 0; n < 24; n += 1) {
      stand.clock.increment(1_000);
      await isIn(stand, await signedIn(stand));
    }
    const answer = await stand.post("/login", { token: link });
    expect(await isIn(stand, { cookie: cookieFrom(answer) })).toBe(true);
    expect([await isIn(stand, maker), endings(stand)]).toEqual([true, ["evicted"]]);
  });

  test("keeps the sign-in of a browser that has one", async () => {
    await using stand = await startDashboard();
    const maker = await signedIn(stand);
    const { link } = await linkOf(stand, maker);
    const answer = await stand.post("/login", { token: link }, maker);
    expect([answer.status, setCookieOf(answer)]).toEqual([200, undefined]);
    expect(await isIn(stand, maker)).toBe(true);
    await refusal(await stand.post("/login", { token: link }), 401, "invalid_token");
    expect(endings(stand)).toEqual([]);
  });
});

describe("sign-in link of a browser", () => {
  test.each([
    ["a sign-out", (stand: DashboardStand, maker: Lines) => stand.post("/logout", {}, maker)],
    [
      "a revocation",
      (stand: DashboardStand) =>
        stand.request("/api/sessions", { method: "DELETE", headers: bearer }),
    ],
    ["expiry", async (stand: DashboardStand) => stand.clock.increment(DAY / 2)],
  ])("ends with its maker by %s", async (_, end) => {
    await using stand = await startDashboard({ launcher: { session_days: 0.5 } });
    const maker = await signedIn(stand);
    stand.clock.increment(DAY / 2 - 60_000);
    const { link, expiresAt } = await linkOf(stand, maker);
    expect(expiresAt).toBe(new Date(BEGAN + DAY / 2).toISOString());
    await end(stand, maker);
    await refusal(await stand.post("/login", { token: link }), 401, "invalid_token");
    expect((await stand.open(`/?token=${link}`)).headers.get("location")).toBe(
      "/login?error=link_expired",
    );
  });
});

describe("sign-in link of the owner", () => {
  test.each([
    [
      "the launcher",
      async (stand: DashboardStand) => stand.kernel.services.signInLinks.mint().path,
    ],
    ["a Bearer", async (stand: DashboardStand) => `/?token=${(await linkOf(stand, bearer)).link}`],
  ])("opens a sign-in of full lifetime: created by %s", async (_, mint) => {
    await using stand = await startDashboard();
    const signIn = await signedIn(stand);
    stand.clock.increment(3 * DAY);
    const path = await mint(stand);
    await stand.post("/logout", {}, signIn);
    const answer = await stand.open(path);
    expect(answer.status).toBe(303);
    const cookie = { cookie: cookieFrom(answer) };
    stand.clock.increment(7 * DAY - 1);
    expect(await isIn(stand, cookie)).toBe(true);
  });
});

describe("sign-in of a signed-in browser", () => {
  test("replaces the sign-in of its cookie", async () => {
    await using stand = await startDashboard();
    const [before, other] = [await signedIn(stand), await signedIn(stand)];
    const child = await throughLink(stand, before);
    const answer = await stand.post("/login", { token: TOKEN }, before);
    const after = { cookie: cookieFrom(answer) };
    expect(await isIn(stand, after)).toBe(true);
    expect(await isIn(stand, before)).toBe(false);
    expect(await isIn(stand, other)).toBe(true);
    expect(await isIn(stand, child)).toBe(false);
    expect(endings(stand)).toEqual(["replaced", "maker-ended"]);
    expect(stand.lines.filter(({ reason }) => reason === "replaced")).toHaveLength(1);
  });

  test("replaces each sign-in if the cookie occurs twice", async () => {
    await using stand = await startDashboard();
    const both = [(await signedIn(stand)).cookie, (await signedIn(stand)).cookie].join("; ");
    await stand.post("/login", { token: TOKEN }, { cookie: both });
    expect(endings(stand)).toEqual(["replaced", "replaced"]);
    expect(await isIn(stand, { cookie: both })).toBe(false);
  });

  test("keeps the sign-in if the token or cookie is invalid", async () => {
    await using stand = await startDashboard();
    const before = await signedIn(stand);
    await stand.post("/login", { token: "not-the-token-of-this-launcher" }, before);
    await stand.post("/login", { token: TOKEN }, { cookie: before.cookie.slice(0, -2) });
    expect(endings(stand)).toEqual([]);
    expect(await isIn(stand, before)).toBe(true);
  });
});
