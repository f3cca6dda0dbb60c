/**
 * Starts the browser of the tests: the one that `TEST_BROWSER` names (a path, `packaged` or
 * `none`), else an installed one, else the one of the development dependency `@sparticuz/chromium`. That package
 * comes with `npm ci` and brings its own libraries and fonts, so browser tests need no installation
 * on 64-bit Linux. Elsewhere they are skipped if no browser is installed.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { chromium, type Browser } from "playwright-core";
import type { TestContext } from "vitest";
import { findExecutables, isExecutable, optional } from "../support/tools.ts";

/** Chromium without windows. Needs less than half the processor time. */
const headless = findExecutables("chromium-headless-shell");
/** Browsers with windows. */
const complete = [
  ...["chromium", "chromium-browser", "google-chrome"].flatMap(findExecutables),
  ...[
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
    "C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe",
  ].filter(isExecutable),
];
const packaged = "packaged";
const hasPackaged = process.platform === "linux" && process.arch === "x64";

/** A path or `packaged`. A path in `TEST_BROWSER` is not checked, so that a wrong one fails. */
function chooseBrowser(preferred: readonly string[]): string | undefined {
  const wanted = process.env["TEST_BROWSER"];
  if (wanted !== undefined) return wanted === "none" ? undefined : wanted;
  const [installed] = [...preferred, ...headless, ...complete];
  return installed ?? (hasPackaged ? packaged : undefined);
}

const need = "a browser (Debian: chromium, or TEST_BROWSER=/path/to/chrome)";
export const hasBrowser = optional(chooseBrowser([]), need) !== undefined;

/** For `beforeEach`: skips the tests of a file. Its `beforeAll` must start no browser then. */
export const skipWithoutBrowser = ({ skip }: TestContext): void =>
  skip(!hasBrowser, `needs ${need}`);

/**
 * Starts a browser.
 *
 * @param args - Additional command-line arguments.
 * @param kind - Which of the installed browsers to prefer.
 */
export async function launchBrowser(
  args: string[] = [],
  kind: "headless" | "complete" = "headless",
): Promise<Browser> {
  const executablePath = chooseBrowser(kind === "headless" ? headless : complete);
  if (executablePath === undefined) throw new Error(`There is no browser. This test needs ${need}`);
  if (executablePath !== packaged) return chromium.launch({ executablePath, args });
  const folder = await unpackBrowser();
  const env = {
    ...process.env,
    LD_LIBRARY_PATH: path.join(folder, "al2023", "lib"),
    FONTCONFIG_FILE: path.join(folder, "fonts.conf"),
  } as Record<string, string>;
  return chromium.launch({ executablePath: path.join(folder, "chromium"), env, args });
}

const unpack = 'await (await import("@sparticuz/chromium")).default.executablePath()';

/**
 * Unpacks the packaged browser into the user's cache once. The package itself would use whatever
 * another user had put into the temporary directory. The rename makes a complete copy visible, so
 * that test processes can unpack in parallel and an aborted one leaves no damaged copy behind.
 *
 * @returns The directory of the browser.
 */
async function unpackBrowser(): Promise<string> {
  const { devDependencies } = createRequire(import.meta.url)("../../package.json") as {
    devDependencies: Readonly<Record<string, string>>;
  };
  const cache = path.join(homedir(), ".cache");
  const folder = path.join(
    cache,
    `doorward-test-browser-${devDependencies["@sparticuz/chromium"]}`,
  );
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  const temporary = mkdtempSync(`${folder}-`);
  try {
    // The package reads both variables at import: the second makes it unpack its libraries. It runs
    // in a process of its own, because tests of this one use their TMPDIR at the same time.
    await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", unpack], {
      cwd: path.join(import.meta.dirname, "..", ".."),
      env: { ...process.env, TMPDIR: temporary, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs20.x" },
    });
    // Its own fonts.conf names directories of the cloud service it is made for. A page without any
    // font ends the process that renders it.
    writeFileSync(
      path.join(temporary, "fonts.conf"),
      `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${path.join(folder, "fonts", "fonts")}</dir>
  <cachedir>${path.join(folder, "fonts-cache")}</cachedir>
</fontconfig>
`,
    );
    renameSync(temporary, folder);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
  return folder;
}
