// Tests opening the dashboard in a browser.
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

/** Returns the link that a browser follows from the page. */
const linkOn = async (page: URL): Promise<string> =>
  /content="0; url=([^"]+)"/.exec(await readFile(page, "utf8"))![1]!.replaceAll("&amp;", "&");

describe("doorward open", () => {
  test("opens one-time links through temporary private files", async () => {
    const folder = await mkdtemp(join(tmpdir(), "doorward-open-"));
    try {
      const browser = join(folder, "browser");
      const seen = join(folder, "seen");
      await writeFile(browser, `#!/bin/sh\nprintf '%s\\n' "$@" >> "${seen}"\n`, { mode: 0o755 });
      const env = { SERVICE_LAUNCHER_TOKEN: "launcher-token-0123456789-abcdef", BROWSER: browser };
      await using launcher = await startLauncher({ env });
      const opened = async (count: number): Promise<URL> => {
        const words = (await readFile(seen, "utf8")).trim().split("\n");
        expect(words).toHaveLength(count);
        expect(words.join()).not.toContain("ott_");
        return new URL(words.at(-1)!);
      };
      expect(launcher.stdout()).toContain("your browser was opened; or once");
      const first = await opened(1);
      expect(statSync(first).mode & 0o777).toBe(0o600);
      const answer = await fetch(await linkOn(first), { redirect: "manual" });
      expect([answer.status, answer.headers.getSetCookie().join()]).toEqual([
        303,
        expect.stringContaining("_session_"),
      ]);
      await vi.waitFor(() => expect(existsSync(first)).toBe(false));

      const own = {
        PATH: process.env["PATH"] ?? "",
        SERVICE_HOME: launcher.home,
        BROWSER: browser,
      };
      const child = spawn(process.execPath, [program, "open"], { env: own, stdio: "ignore" });
      expect(await new Promise((done) => child.once("close", done))).toBe(0);
      const second = await opened(2);
      expect(existsSync(second)).toBe(true);
      launcher.child.kill("SIGTERM");
      await launcher.ended;
      expect(existsSync(second)).toBe(false);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
