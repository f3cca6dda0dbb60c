import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, utimesSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createSignInPages, pageOf, type SignInPagesOptions } from "../../bin/sign-in-page.ts";

const link = new URL("http://127.0.0.1:18800/door/?token=ott_one-time&next=%2Ftokens");

interface Desktop {
  readonly home: string;
  readonly user: string;
  /** The URL that the browser received. */
  opened(): Promise<URL>;
  pages(options?: Partial<SignInPagesOptions>): ReturnType<typeof createSignInPages>;
}

async function withDesktop(
  visit: (desktop: Desktop) => Promise<void>,
  exitCode = 0,
): Promise<void> {
  const user = await mkdtemp(join(tmpdir(), "doorward-user-"));
  const home = join(user, ".service");
  const seen = join(user, "seen");
  const browser = join(user, "browser");
  mkdirSync(home, { mode: 0o700 });
  await writeFile(browser, `#!/bin/sh\nprintf '%s\\n' "$@" > "${seen}"\nexit ${exitCode}\n`, {
    mode: 0o755,
  });
  const env = { HOME: user, BROWSER: browser };
  try {
    await visit({
      home,
      user,
      opened: async () => new URL((await readFile(seen, "utf8")).trim()),
      pages: (options) =>
        createSignInPages({ home, env, platform: "linux", snapFolder: user, ...options }),
    });
  } finally {
    await rm(user, { recursive: true, force: true });
  }
}

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe("createSignInPages", () => {
  test("passes the browser a private file and no link", () =>
    withDesktop(async ({ home, opened, pages }) => {
      expect(await pages().open(link)).toBe(true);
      const url = await opened();
      expect(url.protocol).toBe("file:");
      expect(url.href).not.toContain("ott_");
      const path = fileURLToPath(url);
      expect(dirname(dirname(path))).toBe(join(home, "run"));
      expect([mode(join(home, "run")), mode(dirname(path)), mode(path)]).toEqual([
        "700",
        "700",
        "600",
      ]);
      expect(await readFile(path, "utf8")).toContain(
        'http-equiv="refresh" content="0; url=http://127.0.0.1:18800/door/?token=ott_one-time&amp;',
      );
    }));

  test("removes old pages, and with age 0 all pages", () =>
    withDesktop(async ({ opened, pages }) => {
      const here = pages();
      await here.open(link);
      const first = dirname(fileURLToPath(await opened()));
      here.sweep(60_000);
      expect(existsSync(first)).toBe(true);
      utimesSync(first, new Date(), new Date(Date.now() - 61_000));
      await pages().open(link); // from another process
      expect(existsSync(first)).toBe(false);
      const second = dirname(fileURLToPath(await opened()));
      pages().sweep(0);
      expect(existsSync(second)).toBe(false);
    }));

  test("leaves no page behind when the browser fails", () =>
    withDesktop(async ({ home, pages }) => {
      expect(await pages().open(link)).toBe(false);
      expect(readdirSync(join(home, "run"))).toEqual([]);
    }, 1));

  test("opens no page that other users could replace", () =>
    withDesktop(async ({ home, user, pages }) => {
      mkdirSync(join(home, "run"));
      chmodSync(join(home, "run"), 0o777);
      expect(await pages().open(link)).toBe(false);
      expect(existsSync(join(user, "seen"))).toBe(false);
    }));

  test("uses the runtime folder of the user if run is a file", () =>
    withDesktop(async ({ home, user, opened, pages }) => {
      await writeFile(join(home, "run"), "");
      const runtime = join(user, "runtime");
      mkdirSync(runtime, { mode: 0o700 });
      const env = { HOME: user, BROWSER: join(user, "browser"), XDG_RUNTIME_DIR: runtime };
      expect(await pages({ env }).open(link)).toBe(true);
      expect(dirname(dirname(fileURLToPath(await opened())))).toBe(runtime);
    }));

  test("uses a visible folder of the user for snap browsers", () =>
    withDesktop(async ({ user, opened, pages }) => {
      await writeFile(join(user, "firefox"), "");
      const snap = pages();
      expect(await snap.open(link)).toBe(true);
      const page = dirname(fileURLToPath(await opened()));
      expect([dirname(page), mode(page)]).toEqual([user, "700"]);
      snap.sweep(0);
      expect(existsSync(page)).toBe(false);
    }));

  test("opens no file if the browser runs on another machine", () =>
    withDesktop(async ({ user, home, pages }) => {
      const env = { HOME: user, BROWSER: join(user, "browser"), VSCODE_IPC_HOOK_CLI: "/socket" };
      expect(await pages({ env }).open(link)).toBe(false);
      expect(readdirSync(join(home, "run"))).toEqual([]);
    }));
});

describe("pageOf", () => {
  test("escapes the link, loads nothing and sends no referrer", () => {
    const text = pageOf(new URL(`http://localhost/?a="'><script>&b=1`));
    expect(text.match(/<[a-z]+/g)).toEqual([
      "<html",
      "<meta",
      "<meta",
      "<meta",
      "<meta",
      "<title",
      "<p",
      "<a",
    ]);
    expect(text).toContain('name="referrer" content="no-referrer"');
    expect(text).toContain("default-src 'none'");
  });
});
