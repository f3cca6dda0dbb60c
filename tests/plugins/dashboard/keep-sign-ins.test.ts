// Tests that sign-ins survive a restart only with the setting and only if they have not ended.
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
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
} from "../../support/dashboard-server.ts";

const NEW_TOKEN = "another-token-of-mine-0123456789";

interface Folder extends AsyncDisposable {
  readonly home: string;
  readonly file: string;
  /** Starts a launcher of this home that keeps sign-ins. */
  start(options?: StandOptions): Promise<DashboardStand>;
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

const privateHost = (stand: DashboardStand): string =>
  new URL(stand.kernel.services.signInLinks.mint().privateUrl!).hostname;

describe("launcher.keep_sign_ins", () => {
  test("keeps a sign-in and the private host name across a restart", async () => {
    await using own = await folder();
    let [session, name] = [{ cookie: "" }, ""];
    {
      await using stand = await own.start();
      session = await signedIn(stand);
      name = privateHost(stand);
    }
    await using stand = await own.start();
    expect(await isIn(stand, session)).toBe(true);
    expect(privateHost(stand)).toBe(name);
    const { sessions } = (await (await stand.get("/api/sessions", session)).json()) as {
      sessions: object[];
    };
    expect(sessions).toMatchObject([{ current: true, address: "127.0.0.1" }]);
    await stand.post("/logout", {}, session);
    expect(await isIn(stand, session)).toBe(false);
  });

  test("extends no sign-in", async () => {
    await using own = await folder();
    let session = { cookie: "" };
    {
      await using stand = await own.start();
      session = await signedIn(stand);
    }
    await using stand = await own.start();
    stand.clock.increment(7 * DAY - 1);
    expect(await isIn(stand, session)).toBe(true);
    stand.clock.increment(1);
    expect(await isIn(stand, session)).toBe(false);
  });

  test("ends all sign-ins at a restart by default", async () => {
    await using own = await folder({});
    let session = { cookie: "" };
    {
      await using stand = await own.start();
      session = await signedIn(stand);
    }
    expect(await own.stored()).toBeUndefined();
    await using stand = await own.start();
    expect(await isIn(stand, session)).toBe(false);
  });

  test("removes stored sign-ins if it was turned off before the start", async () => {
    await using own = await folder();
    {
      await using stand = await own.start();
      await signedIn(stand);
    }
    expect(await own.stored()).toBeDefined();
    await using stand = await own.start({ launcher: { keep_sign_ins: false } });
    expect(await own.stored()).toBeUndefined();
    expect(stand.kernel.state()).toBe("running");
  });

  test.each([
    ["signed out", (stand: DashboardStand, it: object) => stand.post("/logout", {}, it as {})],
    [
      "revoked",
      (stand: DashboardStand) =>
        stand.request("/api/sessions", {
          method: "DELETE",
          headers: { authorization: `Bearer ${TOKEN}` },
        }),
    ],
    [
      "replaced",
      (stand: DashboardStand, it: object) => stand.post("/login", { token: TOKEN }, it as {}),
    ],
    ["expired", async (stand: DashboardStand) => stand.clock.increment(7 * DAY)],
  ])("restores no sign-in that was %s, even after a crash", async (how, end) => {
    await using own = await folder();
    let session = { cookie: "" };
    let afterEnd: string | undefined;
    {
      await using stand = await own.start();
      session = await signedIn(stand);
      await end(stand, session);
      if (how === "expired") await stand.post("/logout", {}, {}); // waits for what is being written
      afterEnd = await own.stored(); // the file that a killed process leaves
    }
    await writeFile(own.file, afterEnd!);
    await using stand = await own.start();
    expect(await isIn(stand, session)).toBe(false);
    expect(await own.stored()).toBeDefined();
  });

  test("keeps a sign-in of a link as part of its maker", async () => {
    await using own = await folder();
    let [maker, child] = [{ cookie: "" }, { cookie: "" }];
    {
      await using stand = await own.start();
      maker = await signedIn(stand);
      const { url } = (await (await stand.post("/api/signin-links", undefined, maker)).json()) as {
        url: string;
      };
      child = { cookie: cookieFrom(await stand.post("/login", { token: url.split("link=")[1]! })) };
    }
    await using stand = await own.start();
    expect(await isIn(stand, child)).toBe(true);
    await stand.post("/logout", {}, maker);
    expect(await isIn(stand, child)).toBe(false);
  });
});

describe("sign-in file", () => {
  test("has mode 0600 and contains neither cookies nor the token", async () => {
    await using own = await folder();
    await using stand = await own.start();
    const { cookie } = await signedIn(stand);
    await stand.post("/logout", {}, {});
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
      await using stand = await own.start();
      old = await signedIn(stand);
      await stand.post("/logout", {}, {});
      const before = await key();
      const body = { which: "launcher", current: TOKEN, token: NEW_TOKEN };
      fresh = { cookie: cookieFrom(await stand.post("/api/token/rotate", body, old)) };
      await stand.post("/logout", {}, {});
      expect(await key()).not.toBe(before);
    }
    await using stand = await own.start();
    expect([await isIn(stand, old), await isIn(stand, fresh)]).toEqual([false, true]);
  });

  test("opens nothing after the token changed between two runs", async () => {
    await using own = await folder();
    let session = { cookie: "" };
    {
      await using stand = await own.start();
      session = await signedIn(stand);
    }
    const path = join(own.home, "launcher-config.json");
    // Keeps the instance, which is part of the cookie name.
    const config = JSON.parse(await readFile(path, "utf8")) as object;
    await writeFile(path, JSON.stringify({ ...config, launcher_token: NEW_TOKEN }));
    await using stand = await own.start();
    expect(await isIn(stand, session)).toBe(false);
    expect(stand.facts.at(-1)).toMatchObject({ fact: { reason: "rotated" } });
    const { sessions } = (await (
      await stand.get("/api/sessions", { authorization: `Bearer ${NEW_TOKEN}` })
    ).json()) as { sessions: object[] };
    expect(sessions).toEqual([]);
  });

  test.each(["", "{", '{"version":1}', '{"version":2,"signIns":[]}', "[]"])(
    "ends all sign-ins with a warning if it contains %j",
    async (text) => {
      await using own = await folder();
      let session = { cookie: "" };
      {
        await using stand = await own.start();
        session = await signedIn(stand);
      }
      await writeFile(own.file, text);
      await using stand = await own.start();
      expect(await isIn(stand, session)).toBe(false);
      expect(
        stand.lines.some(({ text: line }) => line.includes("all browsers are signed out")),
      ).toBe(true);
      const again = await signedIn(stand);
      await stand.post("/logout", {}, {});
      expect(await own.stored()).toContain('"version":1');
      expect(await isIn(stand, again)).toBe(true);
    },
  );

  test("belongs to the first of two launchers with one home", async () => {
    await using own = await folder();
    await using one = await own.start();
    const session = await signedIn(one);
    await using two = await own.start();
    expect(two.lines.some(({ text }) => text.includes("all browsers are signed out"))).toBe(true);
    await signedIn(two);
    await two.post("/logout", {}, {});
    expect(JSON.parse((await own.stored())!)).toMatchObject({ signIns: [{}] });
    expect([await isIn(one, session), await isIn(two, session)]).toEqual([true, false]);
  });

  test("disappears if it cannot be written", async () => {
    await using own = await folder();
    await using stand = await own.start();
    const session = await signedIn(stand);
    await stand.post("/logout", {}, {});
    const lock = join(own.home, "state", ".sign-ins.json.lock");
    await writeFile(lock, "another holder");
    await stand.post("/logout", {}, session);
    expect(await own.stored()).toBeUndefined();
    expect(stand.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });
});

describe("PUT /api/launcher: keep_sign_ins", () => {
  async function change(stand: DashboardStand, isOn: boolean, session: { cookie: string }) {
    const { sections } = (await (await stand.get("/api/settings", session)).json()) as {
      sections: { section: string; etag: string }[];
    };
    const { etag } = sections.find(({ section }) => section === "launcher")!;
    return (body: object): Promise<Response> =>
      stand.request("/api/launcher", {
        method: "PUT",
        headers: { ...session, "content-type": "application/json", "if-match": etag },
        body: JSON.stringify({ keep_sign_ins: isOn, ...body }),
      });
  }

  test("requires the token and keeps current sign-ins", async () => {
    await using own = await folder({});
    let session = { cookie: "" };
    {
      await using stand = await own.start();
      session = await signedIn(stand);
      const turnOn = await change(stand, true, session);
      expect((await turnOn({})).status).toBe(400);
      expect(await own.stored()).toBeUndefined();
      expect((await turnOn({ current: TOKEN })).status).toBe(200);
      expect(await own.stored()).toBeDefined();
      expect(await isIn(stand, session)).toBe(true);
    }
    await using stand = await own.start();
    expect(await isIn(stand, session)).toBe(true);
    const turnOff = await change(stand, false, session);
    expect((await turnOff({ current: TOKEN })).status).toBe(200);
    expect(await own.stored()).toBeUndefined();
    expect([await isIn(stand, session), setCookieOf(await stand.open("/", session))]).toEqual([
      true,
      undefined,
    ]);
  });
});
