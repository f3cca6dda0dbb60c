// Tests that sign-ins survive a restart only with the setting and only if they have not ended.
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  DAY,
  START_TIME,
  TOKEN,
  cookieFrom,
  isSignedIn,
  setCookieOf,
  signIn,
  startDashboard,
  tempHome,
  type DashboardServer,
  type DashboardServerOptions,
} from "../../support/dashboard-server.ts";

const HOUR = 3_600_000;
const NEW_TOKEN = "another-token-of-mine-0123456789";

interface Folder extends AsyncDisposable {
  readonly home: string;
  readonly file: string;
  /** Starts a launcher of this home that keeps sign-ins. */
  start(options?: DashboardServerOptions): Promise<DashboardServer>;
  /** Content of the sign-in file. */
  stored(): Promise<string | undefined>;
}

async function folder(
  launcher: Record<string, unknown> = { keep_sign_ins: true },
): Promise<Folder> {
  const temp = await tempHome();
  const { home } = temp;
  const file = join(home, "state", "sign-ins.json");
  const config = JSON.stringify({ launcher_token: TOKEN, ...launcher });
  await writeFile(join(home, "launcher-config.json"), config, { mode: 0o600 });
  return {
    home,
    file,
    start: (options = {}) => startDashboard({ home, dashboard: { signInFile: file }, ...options }),
    stored: () => readFile(file, "utf8").catch(() => undefined),
    [Symbol.asyncDispose]: () => temp[Symbol.asyncDispose](),
  };
}

const privateHost = (server: DashboardServer): string =>
  new URL(server.kernel.services.signInLinks.mint().privateUrl!).hostname;

describe("launcher.keep_sign_ins", () => {
  test("keeps a sign-in and the private host name across a restart", async () => {
    await using own = await folder();
    let [session, name] = [{ cookie: "" }, ""];
    {
      await using server = await own.start();
      session = await signIn(server);
      name = privateHost(server);
    }
    await using server = await own.start();
    expect(await isSignedIn(server, session)).toBe(true);
    expect(privateHost(server)).toBe(name);
    const { sessions } = (await (await server.get("/api/sessions", session)).json()) as {
      sessions: object[];
    };
    expect(sessions).toMatchObject([{ current: true, address: "127.0.0.1" }]);
    await server.post("/logout", {}, session);
    expect(await isSignedIn(server, session)).toBe(false);
  });

  test("extends no sign-in", async () => {
    await using own = await folder();
    let session = { cookie: "" };
    {
      await using server = await own.start();
      session = await signIn(server);
    }
    await using server = await own.start();
    server.clock.increment(7 * DAY - 1);
    expect(await isSignedIn(server, session)).toBe(true);
    server.clock.increment(1);
    expect(await isSignedIn(server, session)).toBe(false);
  });

  test.each([400 * DAY, -400 * DAY])("survives a clock that is wrong by %d ms", async (jump) => {
    await using own = await folder();
    let session = { cookie: "" };
    {
      await using server = await own.start();
      session = await signIn(server);
      server.clock.setTimeOfDay(START_TIME + jump);
      expect(await isSignedIn(server, session)).toBe(true);
      server.clock.increment(HOUR);
      expect(await isSignedIn(server, session)).toBe(true);
      const during = await signIn(server);
      expect(await isSignedIn(server, during)).toBe(true);
    }
    await using server = await own.start({ now: START_TIME + jump });
    expect(await isSignedIn(server, session)).toBe(true);
    server.clock.setTimeOfDay(START_TIME);
    expect(await isSignedIn(server, session)).toBe(true);
  });

  test("ends within 7 hours of running after a long pause", async () => {
    await using own = await folder();
    let session = { cookie: "" };
    {
      await using server = await own.start();
      session = await signIn(server);
      server.clock.increment(DAY);
    }
    const now = START_TIME + 30 * DAY;
    {
      await using server = await own.start({ now });
      server.clock.increment(5 * HOUR);
      expect(await isSignedIn(server, session)).toBe(true);
      // Neither a restart nor a crash begins the pause again.
      await writeFile(own.file, (await own.stored())!);
    }
    await using server = await own.start({ now });
    const later = await signIn(server);
    server.clock.increment(2 * HOUR);
    expect(await isSignedIn(server, session)).toBe(false);
    server.clock.increment(3 * DAY);
    expect(await isSignedIn(server, later)).toBe(true);
    server.clock.increment(4 * DAY);
    expect(await isSignedIn(server, later)).toBe(false);
  });

  test("ends all sign-ins at a restart by default", async () => {
    await using own = await folder({});
    let session = { cookie: "" };
    {
      await using server = await own.start();
      session = await signIn(server);
    }
    expect(await own.stored()).toBeUndefined();
    await using server = await own.start();
    expect(await isSignedIn(server, session)).toBe(false);
  });

  test("removes stored sign-ins if it was turned off before the start", async () => {
    await using own = await folder();
    {
      await using server = await own.start();
      await signIn(server);
    }
    expect(await own.stored()).toBeDefined();
    await using server = await own.start({ launcher: { keep_sign_ins: false } });
    expect(await own.stored()).toBeUndefined();
    expect(server.kernel.state()).toBe("running");
  });

  test.each([
    ["signed out", (server: DashboardServer, it: object) => server.post("/logout", {}, it as {})],
    [
      "revoked",
      (server: DashboardServer) =>
        server.request("/api/sessions", {
          method: "DELETE",
          headers: { authorization: `Bearer ${TOKEN}` },
        }),
    ],
    [
      "replaced",
      (server: DashboardServer, it: object) => server.post("/login", { token: TOKEN }, it as {}),
    ],
    ["expired", async (server: DashboardServer) => server.clock.increment(7 * DAY)],
  ])("restores no sign-in that was %s, even after a crash", async (how, end) => {
    await using own = await folder();
    let session = { cookie: "" };
    let afterEnd: string | undefined;
    {
      await using server = await own.start();
      session = await signIn(server);
      await end(server, session);
      if (how === "expired") await server.post("/logout", {}, {}); // waits for what is being written
      afterEnd = await own.stored(); // the file that a killed process leaves
    }
    await writeFile(own.file, afterEnd!);
    await using server = await own.start();
    expect(await isSignedIn(server, session)).toBe(false);
    expect(await own.stored()).toBeDefined();
  });

  test("keeps a sign-in of a link as part of its maker", async () => {
    await using own = await folder();
    let [maker, child] = [{ cookie: "" }, { cookie: "" }];
    {
      await using server = await own.start();
      maker = await signIn(server);
      const { url } = (await (await server.post("/api/signin-links", undefined, maker)).json()) as {
        url: string;
      };
      child = {
        cookie: cookieFrom(await server.post("/login", { token: url.split("link=")[1]! })),
      };
    }
    await using server = await own.start();
    expect(await isSignedIn(server, child)).toBe(true);
    await server.post("/logout", {}, maker);
    expect(await isSignedIn(server, child)).toBe(false);
  });
});

describe("sign-in file", () => {
  test("has mode 0600 and contains neither cookies nor the token", async () => {
    await using own = await folder();
    await using server = await own.start();
    const { cookie } = await signIn(server);
    await server.post("/logout", {}, {});
    const text = (await own.stored())!;
    expect((await stat(own.file)).mode & 0o777).toBe(0o600);
    const [secret = "", , signature = ""] = cookie.split("=")[1]!.split(".");
    for (const each of [secret, signature, TOKEN]) expect(text).not.toContain(each);
    expect(JSON.parse(text)).toMatchObject({ signIns: [{ address: "127.0.0.1" }] });
  });

  test("gets another key when the launcher token is rotated", async () => {
    await using own = await folder();
    const key = async (): Promise<unknown> =>
      (JSON.parse((await own.stored())!) as { key: unknown }).key;
    let [old, fresh] = [{ cookie: "" }, { cookie: "" }];
    {
      await using server = await own.start();
      old = await signIn(server);
      await server.post("/logout", {}, {});
      const before = await key();
      const body = { which: "launcher", current: TOKEN, token: NEW_TOKEN };
      fresh = { cookie: cookieFrom(await server.post("/api/token/rotate", body, old)) };
      await server.post("/logout", {}, {});
      expect(await key()).not.toBe(before);
    }
    await using server = await own.start();
    expect([await isSignedIn(server, old), await isSignedIn(server, fresh)]).toEqual([false, true]);
  });

  test("opens nothing after the token changed between two runs", async () => {
    await using own = await folder();
    let session = { cookie: "" };
    {
      await using server = await own.start();
      session = await signIn(server);
    }
    const path = join(own.home, "launcher-config.json");
    // Keeps the instance, which is part of the cookie name.
    const config = JSON.parse(await readFile(path, "utf8")) as object;
    await writeFile(path, JSON.stringify({ ...config, launcher_token: NEW_TOKEN }));
    await using server = await own.start();
    expect(await isSignedIn(server, session)).toBe(false);
    expect(server.facts.at(-1)).toMatchObject({ fact: { reason: "rotated" } });
    const { sessions } = (await (
      await server.get("/api/sessions", { authorization: `Bearer ${NEW_TOKEN}` })
    ).json()) as { sessions: object[] };
    expect(sessions).toEqual([]);
  });

  test.each(["", "{", '{"version":1}', '{"version":2,"signIns":[]}', "[]"])(
    "ends all sign-ins with a warning if it contains %j",
    async (text) => {
      await using own = await folder();
      let session = { cookie: "" };
      {
        await using server = await own.start();
        session = await signIn(server);
      }
      await writeFile(own.file, text);
      await using server = await own.start();
      expect(await isSignedIn(server, session)).toBe(false);
      expect(
        server.lines.some(({ text: line }) => line.includes("all browsers are signed out")),
      ).toBe(true);
      const again = await signIn(server);
      await server.post("/logout", {}, {});
      expect(await own.stored()).toContain('"version":1');
      expect(await isSignedIn(server, again)).toBe(true);
    },
  );

  test("belongs to the first of two launchers with one home", async () => {
    await using own = await folder();
    await using one = await own.start();
    const session = await signIn(one);
    await using two = await own.start();
    expect(two.lines.some(({ text }) => text.includes("all browsers are signed out"))).toBe(true);
    await signIn(two);
    await two.post("/logout", {}, {});
    expect(JSON.parse((await own.stored())!)).toMatchObject({ signIns: [{}] });
    expect([await isSignedIn(one, session), await isSignedIn(two, session)]).toEqual([true, false]);
  });

  test("disappears if it cannot be written", async () => {
    await using own = await folder();
    await using server = await own.start();
    const session = await signIn(server);
    await server.post("/logout", {}, {});
    const lock = join(own.home, "state", ".sign-ins.json.lock");
    await writeFile(lock, "another holder");
    await server.post("/logout", {}, session);
    expect(await own.stored()).toBeUndefined();
    expect(server.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });
});

describe("PUT /api/launcher: keep_sign_ins", () => {
  async function change(server: DashboardServer, isOn: boolean, session: { cookie: string }) {
    const { sections } = (await (await server.get("/api/settings", session)).json()) as {
      sections: { section: string; etag: string }[];
    };
    const { etag } = sections.find(({ section }) => section === "launcher")!;
    return (body: object): Promise<Response> =>
      server.request("/api/launcher", {
        method: "PUT",
        headers: { ...session, "content-type": "application/json", "if-match": etag },
        body: JSON.stringify({ keep_sign_ins: isOn, ...body }),
      });
  }

  test("requires the token and keeps current sign-ins", async () => {
    await using own = await folder({});
    let session = { cookie: "" };
    {
      await using server = await own.start();
      session = await signIn(server);
      const turnOn = await change(server, true, session);
      expect((await turnOn({})).status).toBe(400);
      expect(await own.stored()).toBeUndefined();
      expect((await turnOn({ current: TOKEN })).status).toBe(200);
      expect(await own.stored()).toBeDefined();
      expect(await isSignedIn(server, session)).toBe(true);
    }
    await using server = await own.start();
    expect(await isSignedIn(server, session)).toBe(true);
    const turnOff = await change(server, false, session);
    expect((await turnOff({ current: TOKEN })).status).toBe(200);
    expect(await own.stored()).toBeUndefined();
    expect([
      await isSignedIn(server, session),
      setCookieOf(await server.open("/", session)),
    ]).toEqual([true, undefined]);
  });
});
