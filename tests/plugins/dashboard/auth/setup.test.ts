import { createHash } from "node:crypto";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TokenBackend } from "../../../../plugins/token-store/index.ts";
import {
  BEGAN,
  DAY,
  TOKEN,
  block,
  cookieFrom,
  inSetup,
  isIn,
  mintLink,
  refusal,
  setCookieOf,
  startDashboard,
  tempHome,
  wrong,
} from "../../../support/dashboard-server.ts";

const OWN = "a-token-of-my-own";
const own = (code: string, token = OWN) => ({ code, token, confirm: token });
const mark = (token: string): string =>
  createHash("sha256").update(token).digest("hex").slice(0, 16);

const fileOf = (home: string): string => join(home, "launcher-config.json");
const stored = async (home: string): Promise<Record<string, string>> =>
  JSON.parse(await readFile(fileOf(home), "utf8")) as Record<string, string>;
const codeIn = async (home: string): Promise<string> => (await stored(home))["launcher_token"]!;
const change = async (home: string, fields: object): Promise<void> =>
  writeFile(fileOf(home), JSON.stringify({ ...(await stored(home)), ...fields }), { mode: 0o600 });

/** A store whose writes end when and how the test says. */
function slowStore(): TokenBackend & { readonly pending: { done(): void; fail(): void }[] } {
  const store = inSetup();
  const pending: { done(): void; fail(): void }[] = [];
  return {
    ...store,
    pending,
    write: (name, value, options) =>
      new Promise((resolve, reject) =>
        pending.push({
          done: () => resolve(store.write(name, value, options)),
          fail: () => reject(Object.assign(new Error(`no space for ${value}`), { code: "ENOSPC" })),
        }),
      ),
  };
}
const until = async (fact: () => boolean): Promise<void> => {
  while (!fact()) await new Promise(setImmediate);
};

describe("GET /setup", () => {
  test("is a page in setup, and leads home in any other state", async () => {
    await using fresh = await startDashboard({ form: inSetup() });
    const answer = await fresh.open("/setup");
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toContain(TOKEN);
    await using running = await startDashboard();
    const other = await running.open("/setup");
    expect([other.status, other.headers.get("location")]).toEqual([302, "/"]);
  });

  test("asks for the code unless the browser came with it", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    expect(await (await stand.open("/setup")).text()).not.toContain("data-has-cookie");
    const cookie = cookieFrom(await stand.open(`/?token=${TOKEN}`), "setup");
    expect(await (await stand.open("/setup", { cookie })).text()).toContain("data-has-cookie");
    expect(await (await stand.open("/setup", { cookie: `${cookie}x` })).text()).not.toContain(
      "data-has-cookie",
    );
  });
});

describe("a first start in real files", () => {
  test("generates a token, marks it, and stays in setup over restarts until its owner confirms it", async () => {
    await using folder = await tempHome();
    const { home } = folder;
    let code = "";
    for (const source of ["random", "config"]) {
      await using stand = await startDashboard({ home });
      expect(stand.kernel.state()).toBe("setup");
      expect(stand.kernel.services.tokens.info("launcher").source).toBe(source);
      const file = await stored(home);
      code ||= file["launcher_token"]!;
      expect(file).toMatchObject({
        launcher_token: code,
        setup_pending: mark(code),
        instance: expect.stringMatching(/^[0-9a-f]{6}$/),
      });
      expect(code).toMatch(/^[\w-]{43}$/);
      expect((await stat(fileOf(home))).mode & 0o777).toBe(0o600);
    }
    {
      await using stand = await startDashboard({ home });
      const answer = await stand.post("/setup", { code, keep: true });
      expect(answer.status).toBe(200);
      expect(stand.kernel.state()).toBe("running");
      expect(await stored(home)).toMatchObject({ launcher_token: code });
      expect(await stored(home)).not.toHaveProperty("setup_pending");
      expect(cookieFrom(answer)).toMatch(
        new RegExp(`^service_session_${(await stored(home))["instance"]}=`),
      );
    }
    await using stand = await startDashboard({ home });
    expect(stand.kernel.state()).toBe("running");
    expect((await stand.post("/login", { token: code })).status).toBe(200);
  });

  test("a token edited by hand ends setup at the next start", async () => {
    await using folder = await tempHome();
    await (await startDashboard({ home: folder.home }))[Symbol.asyncDispose]();
    await change(folder.home, { launcher_token: OWN });
    await using stand = await startDashboard({ home: folder.home });
    expect(stand.kernel.state()).toBe("running");
    expect((await stand.post("/login", { token: OWN })).status).toBe(200);
  });

  test("a token from the environment needs no setup and writes none", async () => {
    await using folder = await tempHome();
    await using stand = await startDashboard({
      home: folder.home,
      env: { SERVICE_LAUNCHER_TOKEN: TOKEN },
    });
    expect(stand.kernel.state()).toBe("running");
    expect(await stored(folder.home)).not.toHaveProperty("launcher_token");
    await refusal(await stand.post("/setup", own(TOKEN)), 409, "already_set_up");
  });

  test("an own token replaces the generated one in the file at once", async () => {
    await using folder = await tempHome();
    await using stand = await startDashboard({ home: folder.home });
    const code = await codeIn(folder.home);
    expect((await stand.post("/setup", own(code))).status).toBe(200);
    expect(await stored(folder.home)).toMatchObject({ launcher_token: OWN });
    expect(await stored(folder.home)).not.toHaveProperty("setup_pending");
    await refusal(await stand.post("/login", { token: code }), 401, "invalid_token");
    expect((await stand.post("/login", { token: OWN })).status).toBe(200);
    expect(stand.logged()).not.toContain(code);
    expect(stand.logged()).not.toContain(OWN);
  });

  test("of many at once exactly one wins, the others get 409 and the file holds the winner's token", async () => {
    await using folder = await tempHome();
    await using stand = await startDashboard({ home: folder.home });
    const code = await codeIn(folder.home);
    const tokens = Array.from({ length: 8 }, (_, n) => `own-token-of-number-${n}`);
    const answers = await Promise.all(
      tokens.map((token) => stand.post("/setup", own(code, token))),
    );
    const winners = tokens.filter((_, n) => answers[n]!.status === 200);
    expect(winners).toHaveLength(1);
    for (const answer of answers)
      if (answer.status !== 200) await refusal(answer, 409, "already_set_up");
    expect((await stored(folder.home))["launcher_token"]).toBe(winners[0]);
    expect(stand.facts.map(({ type }) => type)).toEqual(["dashboard:signed-in"]);
  });

  test("a write that fails is 503, setup goes on, the old code is still right", async () => {
    await using folder = await tempHome();
    await using stand = await startDashboard({ home: folder.home });
    const code = await codeIn(folder.home);
    await rename(folder.home, `${folder.home}-away`);
    await writeFile(folder.home, "in the way");
    const answer = await stand.post("/setup", own(code));
    const body = await refusal(answer, 503, "store_unavailable");
    expect(answer.headers.get("retry-after")).not.toBeNull();
    expect(setCookieOf(answer)).toBeUndefined();
    expect(JSON.stringify(body) + stand.logged()).not.toContain(OWN);
    expect(stand.kernel.state()).toBe("setup");
    const page = await stand.form("/setup", { ...own(code), keep: "false" });
    expect(page.status).toBe(503);
    expect(await page.text()).not.toContain(OWN);
    await rm(folder.home);
    await rename(`${folder.home}-away`, folder.home);
    expect(await codeIn(folder.home)).toBe(code);
    expect((await stand.post("/setup", own(code))).status).toBe(200);
  });
});

describe("POST /setup with the right code", () => {
  test("answers ok, the expiry and a session; the setup cookie is cleared", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const answer = await stand.post("/setup", own(TOKEN));
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      status: "ok",
      expiresAt: new Date(BEGAN + 7 * DAY).toISOString(),
    });
    expect(await isIn(stand, { cookie: cookieFrom(answer) })).toBe(true);
    expect(setCookieOf(answer, "setup")).toMatch(
      /^service_setup_\d+=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    expect(stand.kernel.state()).toBe("running");
    expect(stand.facts).toMatchObject([{ type: "dashboard:signed-in", fact: { via: "setup" } }]);
  });

  test("as a form goes to the overview, also with keep and from a page that hides its origin", async () => {
    for (const fields of [
      { code: TOKEN, keep: "true" },
      { ...own(TOKEN), keep: "false" },
      own(TOKEN),
      { ...own(TOKEN, ""), keep: "true" },
    ]) {
      await using stand = await startDashboard({ form: inSetup() });
      const answer = await stand.form("/setup", fields, { origin: "null" });
      expect([answer.status, answer.headers.get("location")]).toEqual([303, "/"]);
      expect(await isIn(stand, { cookie: cookieFrom(answer) })).toBe(true);
    }
  });

  test("trims the ends of the code and of the new token", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    expect(
      (await stand.post("/setup", { code: `${TOKEN}\n`, token: ` ${OWN}`, confirm: `${OWN}\n` }))
        .status,
    ).toBe(200);
    expect((await stand.post("/login", { token: OWN })).status).toBe(200);
  });

  test("in any other state is 409, a form is led home; nothing is compared", async () => {
    await using stand = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    await refusal(await stand.post("/setup", own(TOKEN)), 409, "already_set_up");
    await refusal(await stand.post("/setup", own(wrong(1))), 409, "already_set_up");
    await refusal(await stand.post("/setup", {}), 409, "already_set_up");
    const form = await stand.form("/setup", own(TOKEN));
    expect([form.status, form.headers.get("location")]).toEqual([303, "/"]);
    await refusal(await stand.post("/login", { token: wrong(2) }), 401, "invalid_token");
  });

  test("one that comes while another is stored gets 409 and is not counted, whatever the token becomes", async () => {
    for (const first of [{ code: TOKEN, keep: true }, own(TOKEN)]) {
      for (const second of [{ code: TOKEN, keep: true }, own(TOKEN, "somebody-else's-token")]) {
        const form = slowStore();
        await using stand = await startDashboard({
          form,
          launcher: { login_attempts_per_minute: 1 },
        });
        const one = stand.post("/setup", first);
        await until(() => form.pending.length === 1);
        const two = stand.post("/setup", second);
        await stand.get("/healthz");
        form.pending[0]!.done();
        expect((await one).status).toBe(200);
        await refusal(await two, 409, "already_set_up");
        expect(form.pending).toHaveLength(1);
        expect((await stand.post("/login", { token: "keep" in first ? TOKEN : OWN })).status).toBe(
          200,
        );
        await refusal(await stand.post("/login", { token: wrong(1) }), 401, "invalid_token");
      }
    }
  });

  test("one that comes while a write fails finds setup as it was", async () => {
    const form = slowStore();
    await using stand = await startDashboard({ form });
    const one = stand.post("/setup", own(TOKEN));
    await until(() => form.pending.length === 1);
    const two = stand.post("/setup", { code: TOKEN, keep: true });
    await stand.get("/healthz");
    form.pending[0]!.fail();
    await refusal(await one, 503, "store_unavailable");
    await until(() => form.pending.length === 2);
    form.pending[1]!.done();
    expect((await two).status).toBe(200);
  });
});

describe("POST /setup with the setup cookie", () => {
  test("needs no code", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const answer = await stand.post("/login", { token: mintLink(stand) });
    const cookie = cookieFrom(answer, "setup");
    expect(setCookieOf(answer, "setup")).toMatch(/; Max-Age=900; Path=\/; HttpOnly; SameSite=Lax$/);
    expect((await stand.post("/setup", { keep: true }, { cookie })).status).toBe(200);
  });

  test("with Origin: null the code must be in the body", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const cookie = cookieFrom(await stand.open(`/?token=${TOKEN}`), "setup");
    const fields = { keep: "true" };
    for (const sent of [fields, { ...fields, code: " " }]) {
      const answer = await stand.form("/setup", sent, { cookie, origin: "null" });
      expect([answer.status, answer.headers.get("set-cookie")]).toEqual([403, null]);
      // A person may have pressed the button before the page's script ran: the form comes back and says what to do.
      expect(await answer.text()).toContain("Paste the generated token");
    }
    expect(stand.kernel.state()).toBe("setup");
    expect((await stand.form("/setup", fields, { cookie, origin: stand.origin })).status).toBe(303);
  });

  test("is good for no longer when the clock is set back meanwhile", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    let passed = 0.25;
    Object.assign(stand.clock, { monotonic: () => passed });
    const cookie = cookieFrom(await stand.open(`/?token=${TOKEN}`), "setup");
    passed += 15 * 60_000;
    await refusal(await stand.post("/setup", { keep: true }, { cookie }), 401, "invalid_code");
    passed -= 1;
    expect((await stand.post("/setup", { keep: true }, { cookie })).status).toBe(200);
  });

  test("is good for 15 minutes, for this process and unchanged only, and never a session", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const cookie = cookieFrom(await stand.open(`/?token=${TOKEN}`), "setup");
    const value = cookie.split("=").slice(1).join("=");
    await refusal(
      await stand.get("/api/status", { cookie: `service_session_${stand.port}=${value}` }),
      403,
      "setup_required",
    );
    for (let at = 0; at < value.length; at += 1) {
      const changed = `${value.slice(0, at)}${value[at] === "A" ? "B" : "A"}${value.slice(at + 1)}`;
      await refusal(
        await stand.post(
          "/setup",
          { keep: true },
          { cookie: `service_setup_${stand.port}=${changed}` },
        ),
        401,
        "invalid_code",
      );
    }
    stand.clock.increment(15 * 60_000);
    await refusal(await stand.post("/setup", { keep: true }, { cookie }), 401, "invalid_code");
    await using other = await startDashboard({ form: inSetup() });
    const elsewhere = cookieFrom(await other.open(`/?token=${TOKEN}`), "setup")
      .split("=")
      .slice(1)
      .join("=");
    await refusal(
      await stand.post(
        "/setup",
        { keep: true },
        { cookie: `service_setup_${stand.port}=${elsewhere}` },
      ),
      401,
      "invalid_code",
    );
  });

  test("a session of a running launcher is no setup cookie, and a setup cookie no session", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const setup = cookieFrom(await stand.open(`/?token=${TOKEN}`), "setup")
      .split("=")
      .slice(1)
      .join("=");
    await stand.post("/setup", { code: TOKEN, keep: true });
    expect(await isIn(stand, { cookie: `service_session_${stand.port}=${setup}` })).toBe(false);
  });
});

describe("POST /setup that is refused", () => {
  test("without a code is 401 invalid_code, not counted", async () => {
    await using stand = await startDashboard({
      form: inSetup(),
      launcher: { login_attempts_per_minute: 1 },
    });
    for (const code of [{}, { code: "" }, { code: " " }]) {
      const answer = await stand.post("/setup", { ...code, keep: true });
      expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="launcher"');
      await refusal(answer, 401, "invalid_code");
    }
    await refusal(await stand.post("/setup", { code: wrong(1), keep: true }), 401, "invalid_code");
    await refusal(await stand.post("/setup", { code: wrong(2), keep: true }), 429, "rate_limited");
  });

  test("with a wrong code is counted; a form gets the page with the message", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    await refusal(await stand.post("/setup", own(wrong(1))), 401, "invalid_code");
    const page = await stand.form("/setup", { code: wrong(2), keep: "true" });
    expect(page.status).toBe(401);
    const text = await page.text();
    expect(text).toContain("That is not the generated token");
    expect(text).not.toContain(wrong(2));
    expect(stand.lines.filter(({ level }) => level === "warn")).toMatchObject([
      { reason: "invalid_code", ip: "127.0.0.1", via: "setup", count: 1 },
      { reason: "invalid_code", ip: "127.0.0.1", via: "setup", count: 2 },
    ]);
  });

  test("while blocked is 429; a form gets the page that counts down", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    await block(stand);
    const answer = await stand.post("/setup", own(wrong(1)));
    expect(answer.headers.get("retry-after")).toBe("60");
    await refusal(answer, 429, "rate_limited");
    const page = await stand.form("/setup", { code: wrong(1), keep: "true" });
    expect([page.status, page.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(await page.text()).toContain('data-countdown="60"');
    expect((await stand.post("/setup", own(TOKEN))).status).toBe(200);
  });

  test("with two tokens that differ is 422; a form gets the page with the message", async () => {
    await using stand = await startDashboard({ form: inSetup() });
    const fields = { code: TOKEN, token: OWN, confirm: `${OWN}!` };
    await refusal(await stand.post("/setup", fields), 422, "token_mismatch");
    const page = await stand.form("/setup", fields);
    expect(page.status).toBe(422);
    const text = await page.text();
    expect(text).toContain("differ");
    expect(text).not.toContain(OWN);
    expect(stand.kernel.state()).toBe("setup");
  });

  test.each([
    ["short", "x".repeat(8) + "y".repeat(7)],
    ["long", "xy".repeat(129)],
    ["spaced", "my token of my own"],
    ["not ASCII", "schlüssel-zur-tür"],
    ["one character repeated", "x".repeat(20)],
    ["like a link", "ott_0123456789abcdef"],
    ["with a control character", "token-of\u0007-my-own"],
    ["empty", ""],
  ])("with a token that is %s is 422 weak_token", async (_, token) => {
    await using stand = await startDashboard({ form: inSetup() });
    await refusal(await stand.post("/setup", own(TOKEN, token)), 422, "weak_token");
    const page = await stand.form("/setup", own(TOKEN, token));
    expect(page.status).toBe(422);
    if (token !== "") expect(await page.text()).not.toContain(token);
    expect(stand.kernel.state()).toBe("setup");
    expect((await stand.post("/login", { token: TOKEN })).status).toBe(409);
  });

  test.each([
    "x".repeat(8) + "y".repeat(8),
    "xy".repeat(128),
    "!#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\"",
  ])("a token of 16 to 256 printable characters is taken: %s", async (token) => {
    await using stand = await startDashboard({ form: inSetup() });
    expect((await stand.post("/setup", own(TOKEN, token))).status).toBe(200);
    expect((await stand.post("/login", { token })).status).toBe(200);
  });

  test("with a body of another shape is 400 and nothing is compared", async () => {
    await using stand = await startDashboard({
      form: inSetup(),
      launcher: { login_attempts_per_minute: 1 },
    });
    for (const body of [
      {},
      { code: TOKEN },
      { code: TOKEN, keep: false },
      { code: TOKEN, token: OWN },
      { code: 5, keep: true },
      [],
      "x",
    ]) {
      await refusal(await stand.post("/setup", body), 400, "invalid_body");
    }
    const twice = await stand.form("/setup", `code=${wrong(1)}&code=${TOKEN}&keep=true`);
    expect(twice.status).toBe(400);
    expect(stand.kernel.state()).toBe("setup");
    await refusal(await stand.post("/setup", own(wrong(1))), 401, "invalid_code");
  });
});
