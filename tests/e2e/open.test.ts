// The browser receives its one-time link in a private file, on the private host name.
import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { startLauncher } from "./launcher.ts";

const program = fileURLToPath(new URL("../../dist/bin/doorward.js", import.meta.url));
const privateName = /^doorward-[0-9a-f]{20}\.localhost$/;

/** Reads the link on a page, as a browser follows it. */
const linkOn = async (page: URL): Promise<URL> => {
  const html = await readFile(page, "utf8");
  return new URL(/content="0; url=([^"]+)"/.exec(html)![1]!.replaceAll("&amp;", "&"));
};

/** Creates a folder with a `BROWSER` script that appends its arguments to a file. */
async function recordingBrowser(): Promise<
  { path: string; opened(count: number): Promise<URL> } & AsyncDisposable
> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-open-"));
  const path = join(folder, "browser");
  const seen = join(folder, "seen");
  await writeFile(path, `#!/bin/sh\nprintf '%s\\n' "$@" >> "${seen}"\n`, { mode: 0o755 });
  return {
    path,
    async opened(count) {
      const words = (await readFile(seen, "utf8")).trim().split("\n");
      expect(words).toHaveLength(count);
      expect(words.join()).not.toContain("ott_");
      return new URL(words.at(-1)!);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

async function runOpen(home: string, browser: string, ...args: string[]): Promise<string> {
  const env = { PATH: process.env["PATH"] ?? "", SERVICE_HOME: home, BROWSER: browser };
  const stdio = ["ignore", "pipe", "ignore"] as const;
  const child = spawn(process.execPath, [program, "open", ...args], { env, stdio: [...stdio] });
  let output = "";
  child.stdout!.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  expect(await new Promise((done) => child.once("close", done))).toBe(0);
  return output;
}

describe("opened browser", () => {
  test("receives one-time links in private files that are removed after use", async () => {
    await using browser = await recordingBrowser();
    const token = "launcher-token-0123456789-abcdef";
    const env = { SERVICE_LAUNCHER_TOKEN: token, BROWSER: browser.path };
    await using launcher = await startLauncher({ env });
    expect(launcher.stdout()).toContain("your browser was opened; or open");
    const first = await browser.opened(1);
    expect(statSync(first).mode & 0o777).toBe(0o600);
    const { pathname, search } = await linkOn(first);
    const response = await fetch(new URL(pathname + search, launcher.base), { redirect: "manual" });
    expect(response.status).toBe(303);
    expect(response.headers.getSetCookie().join()).toContain("_session_");
    await vi.waitFor(() => expect(existsSync(first)).toBe(false));

    await runOpen(launcher.home, browser.path);
    const second = await browser.opened(2);
    expect(existsSync(second)).toBe(true);
    launcher.child.kill("SIGTERM");
    await launcher.ended;
    expect(existsSync(second)).toBe(false);
  });

  test("opens the private host name, and prints 127.0.0.1", async () => {
    await using browser = await recordingBrowser();
    await using launcher = await startLauncher({ env: { BROWSER: browser.path } });
    const first = await linkOn(await browser.opened(1));
    expect(first.hostname).toMatch(privateName);
    expect([first.port, launcher.link.hostname]).toEqual([launcher.base.port, "127.0.0.1"]);

    await runOpen(launcher.home, browser.path);
    expect((await linkOn(await browser.opened(2))).host).toBe(first.host);
    const printed = new URL(await runOpen(launcher.home, browser.path, "-print"));
    expect(printed.host).toBe(launcher.base.host);
    expect(launcher.stdout() + launcher.stderr()).not.toContain(first.hostname);
  });
});
