import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { memory } from "../../../../plugins/token-store/index.ts";
import { selfSigned } from "../../http/certificate.ts";
import {
  BEGAN,
  DAY,
  TOKEN,
  cookieFrom,
  isIn,
  setCookieOf,
  signedIn,
  startDashboard,
  tempHome,
  type DashboardStand,
  type StandOptions,
} from "../../../support/dashboard-server.ts";

const valueOf = (cookie: string): string => cookie.slice(cookie.indexOf("=") + 1);
const login = (stand: DashboardStand, headers = {}): Promise<Response> =>
  stand.post("/login", { token: TOKEN }, headers);
const proxied = { trusted_proxies: ["127.0.0.1"] };
const ended = (stand: DashboardStand): unknown[] =>
  stand.facts
    .filter(({ type }) => type === "dashboard:signed-out")
    .map(({ fact }) => fact["reason"]);

describe("session cookie", () => {
  test("has HttpOnly, Lax, 7 days and no Secure over http", async () => {
    await using stand = await startDashboard();
    expect(setCookieOf(await login(stand))).toMatch(
      new RegExp(
        `^service_session_${stand.port}=[\\w-]{22}\\.${BEGAN + 7 * DAY}\\.[\\w+/]{43}; ` +
          "Max-Age=604800; Path=/; HttpOnly; SameSite=Lax$",
      ),
    );
  });

  test("keeps the instance of the home in its name across restarts", async () => {
    await using folder = await tempHome();
    const names: string[] = [];
    for (let start = 0; start < 2; start += 1) {
      await using stand = await startDashboard({
        home: folder.home,
        env: { SERVICE_LAUNCHER_TOKEN: TOKEN },
      });
      names.push((await signedIn(stand)).cookie.split("=")[0]!);
    }
    expect(names[0]).toMatch(/^service_session_[0-9a-f]{6}$/);
    expect(names[1]).toBe(names[0]);
  });

  test("carries the brand in its name", async () => {
    await using stand = await startDashboard({ dashboard: { brand: "acme" } });
    expect((await signedIn(stand)).cookie).toMatch(/^acme_session_/);
  });

  test("gains Secure and __Host- if a trusted proxy reports https", async () => {
    await using behind = await startDashboard({ launcher: proxied });
    const https = { "x-forwarded-proto": "https" };
    const set = setCookieOf(await login(behind, https))!;
    expect(set).toMatch(
      /^__Host-service_session_\d+=[^;]+; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const cookie = set.split(";", 1)[0]!;
    expect(await isIn(behind, { cookie, ...https })).toBe(true);
    expect(await isIn(behind, { cookie })).toBe(false);
    expect(setCookieOf(await login(behind))).toMatch(/^service_session_[^;]+;(?!.*Secure)/);
    await using plain = await startDashboard();
    expect(setCookieOf(await login(plain, https))).toMatch(/^service_session_[^;]+;(?!.*Secure)/);
  });

  test("gains Secure and __Host- over TLS", async () => {
    await using folder = await tempHome();
    const [cert, key] = [join(folder.home, "cert.pem"), join(folder.home, "key.pem")];
    const made = selfSigned();
    await writeFile(cert, made.cert);
    await writeFile(key, made.key);
    await using stand = await startDashboard({ launcher: { tls: { cert, key } } });
    expect(stand.base.protocol).toBe("https:");
    const answer = await login(stand, { origin: stand.origin });
    expect(setCookieOf(answer)).toMatch(
      /^__Host-service_session_\d+=[^;]+; Max-Age=604800; Path=\/; HttpOnly; Secure;/,
    );
    expect(await isIn(stand, { cookie: cookieFrom(answer) })).toBe(true);
    const host = { host: `localhost:${stand.port}` };
    expect(
      (await login(stand, { ...host, origin: `https://localhost:${stand.port}` })).status,
    ).toBe(200);
    expect((await login(stand, { ...host, origin: `http://localhost:${stand.port}` })).status).toBe(
      403,
    );
  });

  test("expires after session_days", async () => {
    await using stand = await startDashboard({ launcher: { session_days: 0.5 } });
    const answer = await login(stand);
    expect(setCookieOf(answer)).toContain("; Max-Age=43200;");
    expect(await answer.json()).toMatchObject({
      expiresAt: new Date(BEGAN + DAY / 2).toISOString(),
    });
  });

  test("changes at every sign-in", async () => {
    await using stand = await startDashboard();
    const cookies = [await signedIn(stand), await signedIn(stand), await signedIn(stand)];
    expect(new Set(cookies.map(({ cookie }) => cookie)).size).toBe(3);
    for (const cookie of cookies) expect(await isIn(stand, cookie)).toBe(true);
  });

  test("accepts any of two values with the same name", async () => {
    await using stand = await startDashboard();
    const { cookie } = await signedIn(stand);
    const [name] = cookie.split("=");
    expect(await isIn(stand, { cookie: `${name}=planted; other=x; ${cookie}` })).toBe(true);
    expect(await isIn(stand, { cookie: `${cookie}; ${name}=planted` })).toBe(true);
    expect(await isIn(stand, { cookie: `${name}=planted; ${name}=` })).toBe(false);
    expect(await isIn(stand, { cookie: ` a ; ;=; ${cookie} ;` })).toBe(true);
  });

  test("opens nothing under another name or kind", async () => {
    await using stand = await startDashboard();
    const value = valueOf((await signedIn(stand)).cookie);
    for (const name of [
      "service_session_0",
      `x_service_session_${stand.port}`,
      `service_setup_${stand.port}`,
      `__Host-service_session_${stand.port}`,
    ]) {
      expect(await isIn(stand, { cookie: `${name}=${value}` })).toBe(false);
    }
  });
});

describe("SignInSessions", () => {
  test("ends a session exactly at its expiry, despite use", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    for (let day = 0; day < 6; day += 1) {
      stand.clock.increment(DAY);
      expect(await isIn(stand, session)).toBe(true);
    }
    stand.clock.increment(DAY - 1);
    expect(await isIn(stand, session)).toBe(true);
    expect(ended(stand)).toEqual([]);
    stand.clock.increment(1);
    expect(ended(stand)).toEqual(["expired"]);
    expect(await isIn(stand, session)).toBe(false);
  });

  test("ends a session after the longest Node timer delay", async () => {
    await using stand = await startDashboard({ launcher: { session_days: 60 } });
    await signedIn(stand);
    for (let day = 0; day < 60; day += 10) {
      expect(ended(stand)).toEqual([]);
      stand.clock.increment(10 * DAY);
    }
    expect(ended(stand)).toEqual(["expired"]);
  });

  test("ignores a clock that is set back", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    stand.clock.increment(DAY);
    stand.clock.setTimeOfDay(BEGAN - DAY);
    expect(await isIn(stand, session)).toBe(false);
    stand.clock.setTimeOfDay(BEGAN + 7 * DAY - 1);
    expect(await isIn(stand, session)).toBe(true);
    stand.clock.setTimeOfDay(BEGAN + DAY / 2);
    stand.clock.increment(6 * DAY);
    expect(await isIn(stand, session)).toBe(false);
    expect(ended(stand)).toEqual(["expired"]);
  });

  test("keeps an expired session ended if the clock is set back", async () => {
    await using stand = await startDashboard();
    const session = await signedIn(stand);
    stand.clock.setTimeOfDay(BEGAN + 8 * DAY);
    expect(await isIn(stand, session)).toBe(false);
    stand.clock.setTimeOfDay(BEGAN + DAY);
    expect(await isIn(stand, session)).toBe(false);
  });

  test("drops sessions at a restart with the same token", async () => {
    await using folder = await tempHome();
    const options: StandOptions = { home: folder.home, env: { SERVICE_LAUNCHER_TOKEN: TOKEN } };
    let session = { cookie: "" };
    {
      await using stand = await startDashboard(options);
      session = await signedIn(stand);
      expect(await isIn(stand, session)).toBe(true);
    }
    await using stand = await startDashboard(options);
    expect(await isIn(stand, session)).toBe(false);
    expect(setCookieOf(await stand.open("/", session))).toContain("Max-Age=0");
  });

  test("evicts unused sessions, then the least recently used, beyond 25", async () => {
    await using stand = await startDashboard();
    const sessions: { cookie: string }[] = [];
    for (let n = 0; n < 25; n += 1) {
      sessions.push(await signedIn(stand));
      stand.clock.increment(1_000);
    }
    for (const n of [0, 1, 2]) {
      await isIn(stand, sessions[n]!);
      stand.clock.increment(1_000);
    }
    /** Cookies in the order of their sign-ins. */
    const alive = (): number[] => {
      const of = (type: string): unknown[] =>
        stand.facts.filter((each) => each.type === type).map(({ fact }) => fact["signIn"]);
      const gone = new Set(of("dashboard:signed-out"));
      return of("dashboard:signed-in").flatMap((signIn, n) => (gone.has(signIn) ? [] : [n]));
    };
    await signedIn(stand);
    await signedIn(stand);
    expect(alive()).toEqual([0, 1, 2, ...Array.from({ length: 22 }, (_, n) => n + 5)]);
    for (let n = 5; n < 25; n += 1) await isIn(stand, sessions[n]!);
    for (let n = 0; n < 2; n += 1) await signedIn(stand);
    expect(alive().includes(0)).toBe(true);
    expect(ended(stand)).toEqual(["evicted", "evicted", "evicted", "evicted"]);
    expect(stand.lines.filter(({ reason }) => reason === "evicted")).toHaveLength(4);
    expect(alive().length).toBe(25);
  });
});

describe("TokenSigner", () => {
  test("rejects signatures of another process with the same token", async () => {
    await using one = await startDashboard();
    await using two = await startDashboard({ form: memory({ launcher: TOKEN }) });
    const value = valueOf((await signedIn(one)).cookie);
    expect(await isIn(two, { cookie: `service_session_${two.port}=${value}` })).toBe(false);
  });

  test("rejects partial values, another expiry and an empty value", async () => {
    await using stand = await startDashboard();
    const { cookie } = await signedIn(stand);
    const [name] = cookie.split("=");
    const [id = "", expiry = "", signature = ""] = valueOf(cookie).split(".");
    for (const value of [
      "",
      ".",
      "..",
      id,
      `${id}.${expiry}`,
      `${id}.${expiry}.`,
      `${id}.${Number(expiry) + 1}.${signature}`,
      `${expiry}.${id}.${signature}`,
      `.${expiry}.${signature}`,
      `"${valueOf(cookie)}"`,
      `${valueOf(cookie)}%25`,
    ]) {
      expect([value, await isIn(stand, { cookie: `${name}=${value}` })]).toEqual([value, false]);
    }
    expect(await isIn(stand, { cookie })).toBe(true);
  });
});
