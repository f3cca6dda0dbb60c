import { createHash } from "node:crypto";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TokenBackend } from "../../../../../plugins/token-store/index.ts";
import {
  START_TIME,
  DAY,
  TOKEN,
  cookieFrom,
  setupBackend,
  isSignedIn,
  rejection,
  setCookieOf,
  startDashboard,
  tempHome,
  wrongToken,
} from "../../../../support/dashboard-server.ts";

const CHOSEN = "a-token-of-my-own";
const choosing = (code: string, token = CHOSEN) => ({ code, token, confirm: token });
const mark = (token: string): string =>
  createHash("sha256").update(token).digest("hex").slice(0, 16);

const fileOf = (home: string): string => join(home, "launcher-config.json");
const stored = async (home: string): Promise<Record<string, string>> =>
  JSON.parse(await readFile(fileOf(home), "utf8")) as Record<string, string>;
const codeIn = async (home: string): Promise<string> => (await stored(home))["launcher_token"]!;
const change = async (home: string, fields: object): Promise<void> =>
  writeFile(fileOf(home), JSON.stringify({ ...(await stored(home)), ...fields }), { mode: 0o600 });

/** A store whose writes end when the test calls `done` or `fail`. */
function slowStore(): TokenBackend & { readonly pending: { done(): void; fail(): void }[] } {
  const store = setupBackend();
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
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise(setImmediate);
};

describe("GET /setup", () => {
  test("shows a page during setup and redirects home otherwise", async () => {
    await using fresh = await startDashboard({ form: setupBackend() });
    const answer = await fresh.open("/setup");
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toContain(TOKEN);
    await using running = await startDashboard();
    const other = await running.open("/setup");
    expect([other.status, other.headers.get("location")]).toEqual([302, "/"]);
  });

  test("asks for the code unless the browser has the setup cookie", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    expect(await (await server.open("/setup")).text()).not.toContain("data-has-cookie");
    const cookie = cookieFrom(await server.open(`/?token=${TOKEN}`), "setup");
    expect(await (await server.open("/setup", { cookie })).text()).toContain("data-has-cookie");
    expect(await (await server.open("/setup", { cookie: `${cookie}x` })).text()).not.toContain(
      "data-has-cookie",
    );
  });
});

describe("first start with files", () => {
  test("stays in setup across restarts until the owner confirms the token", async () => {
    await using folder = await tempHome();
    const { home } = folder;
    let code = "";
    for (const source of ["random", "config"]) {
      await using server = await startDashboard({ home });
      expect(server.kernel.state()).toBe("setup");
      expect(server.kernel.services.tokens.info("launcher").source).toBe(source);
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
      await using server = await startDashboard({ home });
      const answer = await server.post("/setup", { code, keep: true });
      expect(answer.status).toBe(200);
      expect(server.kernel.state()).toBe("running");
      expect(await stored(home)).toMatchObject({ launcher_token: code });
      expect(await stored(home)).not.toHaveProperty("setup_pending");
      expect(cookieFrom(answer)).toMatch(
        new RegExp(`^service_session_${(await stored(home))["instance"]}=`),
      );
    }
    await using server = await startDashboard({ home });
    expect(server.kernel.state()).toBe("running");
    expect((await server.post("/login", { token: code })).status).toBe(200);
  });

  test("ends setup at a start with an edited token", async () => {
    await using folder = await tempHome();
    await (await startDashboard({ home: folder.home }))[Symbol.asyncDispose]();
    await change(folder.home, { launcher_token: CHOSEN });
    await using server = await startDashboard({ home: folder.home });
    expect(server.kernel.state()).toBe("running");
    expect((await server.post("/login", { token: CHOSEN })).status).toBe(200);
  });

  test("needs no setup with a token from the environment", async () => {
    await using folder = await tempHome();
    await using server = await startDashboard({
      home: folder.home,
      env: { SERVICE_LAUNCHER_TOKEN: TOKEN },
    });
    expect(server.kernel.state()).toBe("running");
    expect(await stored(folder.home)).not.toHaveProperty("launcher_token");
    await rejection(await server.post("/setup", choosing(TOKEN)), 409, "already_set_up");
  });

  test("replaces the generated token in the file immediately", async () => {
    await using folder = await tempHome();
    await using server = await startDashboard({ home: folder.home });
    const code = await codeIn(folder.home);
    expect((await server.post("/setup", choosing(code))).status).toBe(200);
    expect(await stored(folder.home)).toMatchObject({ launcher_token: CHOSEN });
    expect(await stored(folder.home)).not.toHaveProperty("setup_pending");
    await rejection(await server.post("/login", { token: code }), 401, "invalid_token");
    expect((await server.post("/login", { token: CHOSEN })).status).toBe(200);
    expect(server.logged()).not.toContain(code);
    expect(server.logged()).not.toContain(CHOSEN);
  });

  test("accepts one of many parallel requests and answers 409 to others", async () => {
    await using folder = await tempHome();
    await using server = await startDashboard({ home: folder.home });
    const code = await codeIn(folder.home);
    const tokens = Array.from({ length: 8 }, (_, n) => `own-token-of-number-${n}`);
    const answers = await Promise.all(
      tokens.map((token) => server.post("/setup", choosing(code, token))),
    );
    const winners = tokens.filter((_, n) => answers[n]!.status === 200);
    expect(winners).toHaveLength(1);
    for (const answer of answers)
      if (answer.status !== 200) await rejection(answer, 409, "already_set_up");
    expect((await stored(folder.home))["launcher_token"]).toBe(winners[0]);
    expect(server.facts.map(({ type }) => type)).toEqual(["dashboard:signed-in"]);
  });

  test("keeps the old code and answers 503 if a write fails", async () => {
    await using folder = await tempHome();
    await using server = await startDashboard({ home: folder.home });
    const code = await codeIn(folder.home);
    await rename(folder.home, `${folder.home}-away`);
    await writeFile(folder.home, "in the way");
    const answer = await server.post("/setup", choosing(code));
    const body = await rejection(answer, 503, "store_unavailable");
    expect(answer.headers.get("retry-after")).not.toBeNull();
    expect(setCookieOf(answer)).toBeUndefined();
    expect(JSON.stringify(body) + server.logged()).not.toContain(CHOSEN);
    expect(server.kernel.state()).toBe("setup");
    const page = await server.form("/setup", { ...choosing(code), keep: "false" });
    expect(page.status).toBe(503);
    expect(await page.text()).not.toContain(CHOSEN);
    await rm(folder.home);
    await rename(`${folder.home}-away`, folder.home);
    expect(await codeIn(folder.home)).toBe(code);
    expect((await server.post("/setup", choosing(code))).status).toBe(200);
  });
});

describe("POST /setup with the correct code", () => {
  test("returns the expiry, sets a session and clears the setup cookie", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    const answer = await server.post("/setup", choosing(TOKEN));
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      status: "ok",
      expiresAt: new Date(START_TIME + 7 * DAY).toISOString(),
    });
    expect(await isSignedIn(server, { cookie: cookieFrom(answer) })).toBe(true);
    expect(setCookieOf(answer, "setup")).toMatch(
      /^service_setup_\d+=; Max-Age=0; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    expect(server.kernel.state()).toBe("running");
    expect(server.facts).toMatchObject([{ type: "dashboard:signed-in", fact: { via: "setup" } }]);
  });

  test("redirects forms to the overview, even with Origin: null", async () => {
    for (const fields of [
      { code: TOKEN, keep: "true" },
      { ...choosing(TOKEN), keep: "false" },
      choosing(TOKEN),
      { ...choosing(TOKEN, ""), keep: "true" },
    ]) {
      await using server = await startDashboard({ form: setupBackend() });
      const answer = await server.form("/setup", fields, { origin: "null" });
      expect([answer.status, answer.headers.get("location")]).toEqual([303, "/"]);
      expect(await isSignedIn(server, { cookie: cookieFrom(answer) })).toBe(true);
    }
  });

  test("trims the code and the new token", async () => {
    await using server = await startDashboard({ form: setupBackend() });
    expect(
      (
        await server.post("/setup", {
          code: `${TOKEN}\n`,
          token: ` ${CHOSEN}`,
          confirm: `${CHOSEN}\n`,
        })
      ).status,
    ).toBe(200);
    expect((await server.post("/login", { token: CHOSEN })).status).toBe(200);
  });

  test("answers 409 outside setup without comparing tokens", async () => {
    await using server = await startDashboard({ launcher: { login_attempts_per_minute: 1 } });
    await rejection(await server.post("/setup", choosing(TOKEN)), 409, "already_set_up");
    await rejection(await server.post("/setup", choosing(wrongToken(1))), 409, "already_set_up");
    await rejection(await server.post("/setup", {}), 409, "already_set_up");
    const form = await server.form("/setup", choosing(TOKEN));
    expect([form.status, form.headers.get("location")]).toEqual([303, "/"]);
    await rejection(await server.post("/login", { token: wrongToken(2) }), 401, "invalid_token");
  });

  test("answers 409 to a second request during a write, uncounted", async () => {
    for (const first of [{ code: TOKEN, keep: true }, choosing(TOKEN)]) {
      for (const second of [
        { code: TOKEN, keep: true },
        choosing(TOKEN, "a-token-of-another-user"),
      ]) {
        const form = slowStore();
        await using server = await startDashboard({
          form,
          launcher: { login_attempts_per_minute: 1 },
        });
        const firstResponse = server.post("/setup", first);
        await until(() => form.pending.length === 1);
        const secondResponse = server.post("/setup", second);
        await server.get("/healthz");
        form.pending[0]!.done();
        expect((await firstResponse).status).toBe(200);
        await rejection(await secondResponse, 409, "already_set_up");
        expect(form.pending).toHaveLength(1);
        expect(
          (await server.post("/login", { token: "keep" in first ? TOKEN : CHOSEN })).status,
        ).toBe(200);
        await rejection(
          await server.post("/login", { token: wrongToken(1) }),
          401,
          "invalid_token",
        );
      }
    }
  });

  test("stays in setup for a second request if a write fails", async () => {
    const form = slowStore();
    await using server = await startDashboard({ form });
    const firstResponse = server.post("/setup", choosing(TOKEN));
    await until(() => form.pending.length === 1);
    const secondResponse = server.post("/setup", { code: TOKEN, keep: true });
    await server.get("/healthz");
    form.pending[0]!.fail();
    await rejection(await firstResponse, 503, "store_unavailable");
    await until(() => form.pending.length === 2);
    form.pending[1]!.done();
    expect((await secondResponse).status).toBe(200);
  });
});
