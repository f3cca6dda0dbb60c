import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { memory } from "../../../../../plugins/token-store/index.ts";
import { selfSigned } from "../../../http/certificate.ts";
import {
  START_TIME,
  DAY,
  TOKEN,
  cookieFrom,
  isSignedIn,
  setCookieOf,
  signIn,
  startDashboard,
  tempHome,
  type DashboardServer,
  type DashboardServerOptions,
} from "../../../../support/dashboard-server.ts";

const valueOf = (cookie: string): string => cookie.slice(cookie.indexOf("=") + 1);
const login = (server: DashboardServer, headers = {}): Promise<Response> =>
  server.post("/login", { token: TOKEN }, headers);
const proxied = { trusted_proxies: ["127.0.0.1"] };
const ended = (server: DashboardServer): unknown[] =>
  server.facts
    .filter(({ type }) => type === "dashboard:signed-out")
    .map(({ fact }) => fact["reason"]);

const HOUR = 3_600_000;

describe("session cookie", () => {
  test("has HttpOnly, Lax, 7 days and no Secure over http", async () => {
    await using server = await startDashboard();
    expect(setCookieOf(await login(server))).toMatch(
      new RegExp(
        `^service_session_${server.port}=[\\w-]{22}\\.${START_TIME + 7 * DAY}\\.[\\w+/]{43}; ` +
          "Max-Age=604800; Path=/; HttpOnly; SameSite=Lax$",
      ),
    );
  });

  test("keeps the instance of the home in its name across restarts", async () => {
    await using folder = await tempHome();
    const names: string[] = [];
    for (let start = 0; start < 2; start += 1) {
      await using server = await startDashboard({
        home: folder.home,
        env: { SERVICE_LAUNCHER_TOKEN: TOKEN },
      });
      names.push((await signIn(server)).cookie.split("=")[0]!);
    }
    expect(names[0]).toMatch(/^service_session_[0-9a-f]{6}$/);
    expect(names[1]).toBe(names[0]);
  });

  test("carries the brand in its name", async () => {
    await using server = await startDashboard({ dashboard: { brand: "acme" } });
    expect((await signIn(server)).cookie).toMatch(/^acme_session_/);
  });

  test("gains Secure and __Host- if a trusted proxy reports https", async () => {
    await using behind = await startDashboard({ launcher: proxied });
    const https = { "x-forwarded-proto": "https" };
    const set = setCookieOf(await login(behind, https))!;
    expect(set).toMatch(
      /^__Host-service_session_\d+=[^;]+; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const cookie = set.split(";", 1)[0]!;
    expect(await isSignedIn(behind, { cookie, ...https })).toBe(true);
    expect(await isSignedIn(behind, { cookie })).toBe(false);
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
    await using server = await startDashboard({ launcher: { tls: { cert, key } } });
    expect(server.base.protocol).toBe("https:");
    const answer = await login(server, { origin: server.origin });
    expect(setCookieOf(answer)).toMatch(
      /^__Host-service_session_\d+=[^;]+; Max-Age=604800; Path=\/; HttpOnly; Secure;/,
    );
    expect(await isSignedIn(server, { cookie: cookieFrom(answer) })).toBe(true);
    const host = { host: `localhost:${server.port}` };
    expect(
      (await login(server, { ...host, origin: `https://localhost:${server.port}` })).status,
    ).toBe(200);
    expect(
      (await login(server, { ...host, origin: `http://localhost:${server.port}` })).status,
    ).toBe(403);
  });

  test("expires after session_days", async () => {
    await using server = await startDashboard({ launcher: { session_days: 0.5 } });
    const answer = await login(server);
    expect(setCookieOf(answer)).toContain("; Max-Age=43200;");
    expect(await answer.json()).toMatchObject({
      expiresAt: new Date(START_TIME + DAY / 2).toISOString(),
    });
  });

  test("changes at every sign-in", async () => {
    await using server = await startDashboard();
    const cookies = [await signIn(server), await signIn(server), await signIn(server)];
    expect(new Set(cookies.map(({ cookie }) => cookie)).size).toBe(3);
    for (const cookie of cookies) expect(await isSignedIn(server, cookie)).toBe(true);
  });

  test("accepts any of two values with the same name", async () => {
    await using server = await startDashboard();
    const { cookie } = await signIn(server);
    const [name] = cookie.split("=");
    expect(await isSignedIn(server, { cookie: `${name}=planted; other=x; ${cookie}` })).toBe(true);
    expect(await isSignedIn(server, { cookie: `${cookie}; ${name}=planted` })).toBe(true);
    expect(await isSignedIn(server, { cookie: `${name}=planted; ${name}=` })).toBe(false);
    expect(await isSignedIn(server, { cookie: ` a ; ;=; ${cookie} ;` })).toBe(true);
  });

  test("opens nothing under another name or kind", async () => {
    await using server = await startDashboard();
    const value = valueOf((await signIn(server)).cookie);
    for (const name of [
      "service_session_0",
      `x_service_session_${server.port}`,
      `service_setup_${server.port}`,
      `__Host-service_session_${server.port}`,
    ]) {
      expect(await isSignedIn(server, { cookie: `${name}=${value}` })).toBe(false);
    }
  });
});

describe("SignInSessions", () => {
  test("ends a session exactly at its expiry, despite use", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    for (let day = 0; day < 6; day += 1) {
      server.clock.increment(DAY);
      expect(await isSignedIn(server, session)).toBe(true);
    }
    server.clock.increment(DAY - 1);
    expect(await isSignedIn(server, session)).toBe(true);
    expect(ended(server)).toEqual([]);
    server.clock.increment(1);
    expect(ended(server)).toEqual(["expired"]);
    expect(await isSignedIn(server, session)).toBe(false);
  });

  test("ends a session after the longest Node timer delay", async () => {
    await using server = await startDashboard({ launcher: { session_days: 60 } });
    await signIn(server);
    for (let day = 0; day < 60; day += 10) {
      expect(ended(server)).toEqual([]);
      server.clock.increment(10 * DAY);
    }
    expect(ended(server)).toEqual(["expired"]);
  });

  test("ignores a clock that is set back", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    server.clock.increment(DAY);
    server.clock.setTimeOfDay(START_TIME - DAY);
    expect(await isSignedIn(server, session)).toBe(true);
    const later = await signIn(server);
    server.clock.increment(6 * DAY - 1);
    expect(await isSignedIn(server, session)).toBe(true);
    server.clock.increment(1);
    expect(await isSignedIn(server, session)).toBe(false);
    expect(ended(server)).toEqual(["expired"]);
    expect(await isSignedIn(server, later)).toBe(true);
    server.clock.increment(DAY);
    expect(await isSignedIn(server, later)).toBe(false);
  });

  test("ends an hour earlier for each day by which the clock jumps", async () => {
    await using server = await startDashboard();
    const session = await signIn(server);
    server.clock.setTimeOfDay(START_TIME + 8 * DAY);
    expect(await isSignedIn(server, session)).toBe(true);
    server.clock.increment(7 * HOUR);
    expect(await isSignedIn(server, session)).toBe(false);
    server.clock.setTimeOfDay(START_TIME + DAY);
    expect(await isSignedIn(server, session)).toBe(false);
  });

  test("rejects a sign-in of a time that no clock has reached", async () => {
    await using server = await startDashboard();
    server.clock.setTimeOfDay(START_TIME + 400 * DAY);
    const session = await signIn(server);
    expect(await isSignedIn(server, session)).toBe(true);
    server.clock.setTimeOfDay(START_TIME);
    expect(await isSignedIn(server, session)).toBe(false);
    server.clock.increment(7 * DAY);
    expect(ended(server)).toEqual(["expired"]);
  });

  test("drops sessions at a restart with the same token", async () => {
    await using folder = await tempHome();
    const options: DashboardServerOptions = {
      home: folder.home,
      env: { SERVICE_LAUNCHER_TOKEN: TOKEN },
    };
    let session = { cookie: "" };
    {
      await using server = await startDashboard(options);
      session = await signIn(server);
      expect(await isSignedIn(server, session)).toBe(true);
    }
    await using server = await startDashboard(options);
    expect(await isSignedIn(server, session)).toBe(false);
    expect(setCookieOf(await server.open("/", session))).toContain("Max-Age=0");
  });

  test("evicts unused sessions, then the least recently used, beyond 25", async () => {
    await using server = await startDashboard();
    const sessions: { cookie: string }[] = [];
    for (let n = 0; n < 25; n += 1) {
      sessions.push(await signIn(server));
      server.clock.increment(1_000);
    }
    for (const n of [0, 1, 2]) {
      await isSignedIn(server, sessions[n]!);
      server.clock.increment(1_000);
    }
    /** Cookies in the order of their sign-ins. */
    const alive = (): number[] => {
      const of = (type: string): unknown[] =>
        server.facts.filter((each) => each.type === type).map(({ fact }) => fact["signIn"]);
      const gone = new Set(of("dashboard:signed-out"));
      return of("dashboard:signed-in").flatMap((signIn, n) => (gone.has(signIn) ? [] : [n]));
    };
    await signIn(server);
    await signIn(server);
    expect(alive()).toEqual([0, 1, 2, ...Array.from({ length: 22 }, (_, n) => n + 5)]);
    for (let n = 5; n < 25; n += 1) await isSignedIn(server, sessions[n]!);
    for (let n = 0; n < 2; n += 1) await signIn(server);
    expect(alive().includes(0)).toBe(true);
    expect(ended(server)).toEqual(["evicted", "evicted", "evicted", "evicted"]);
    expect(server.lines.filter(({ reason }) => reason === "evicted")).toHaveLength(4);
    expect(alive().length).toBe(25);
  });
});

describe("TokenSigner", () => {
  test("rejects signatures of another process with the same token", async () => {
    await using one = await startDashboard();
    await using two = await startDashboard({ form: memory({ launcher: TOKEN }) });
    const value = valueOf((await signIn(one)).cookie);
    expect(await isSignedIn(two, { cookie: `service_session_${two.port}=${value}` })).toBe(false);
  });

  test("rejects partial values, another expiry and an empty value", async () => {
    await using server = await startDashboard();
    const { cookie } = await signIn(server);
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
      expect([value, await isSignedIn(server, { cookie: `${name}=${value}` })]).toEqual([
        value,
        false,
      ]);
    }
    expect(await isSignedIn(server, { cookie })).toBe(true);
  });
});

describe("theme cookie", () => {
  test.each([
    ["theme=dark", "dark"],
    ["other=1; theme=light ;x=2", "light"],
    ["mytheme=dark; theme=blue", undefined],
    [undefined, undefined],
  ])("sets the theme of a page: %s", async (cookie, theme) => {
    await using server = await startDashboard();
    const answer = await server.get("/login", cookie === undefined ? {} : { cookie });
    expect(/<html lang="en" data-theme="(\w+)">/.exec(await answer.text())?.[1]).toBe(theme);
  });
});
