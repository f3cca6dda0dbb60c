import { accessSync, constants, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { chromium, type Browser } from "playwright-core";

/** Chromium's engine without its windows: less than half the work. */
const lean = ["/usr/bin/chromium-headless-shell"];
/** As people have them. */
const whole = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/snap/bin/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  "C:\\Program Files (x86)\\Microsoft\\Edge\\Application\\msedge.exe",
];

/**
 * A browser for the tests: the one named by `TEST_BROWSER` (a path, or `packaged`), else the first installed one of this
 * kind, else any installed one, else the packaged one. A wrong path fails loudly.
 */
export async function launchBrowser(
  args: string[] = [],
  kind: "lean" | "whole" = "lean",
): Promise<Browser> {
  const asked = process.env["TEST_BROWSER"];
  const installed = kind === "lean" ? [...lean, ...whole] : [...whole, ...lean];
  const executablePath = asked === "packaged" ? undefined : (asked ?? installed.find(isExecutable));
  return executablePath ? chromium.launch({ executablePath, args }) : launchPackaged(args);
}

/**
 * The packaged Chromium brings its own system libraries and fonts, so it runs on a machine that has none. It trusts
 * whatever it finds unpacked in the temporary folder, so it gets a private one.
 */
async function launchPackaged(args: string[]): Promise<Browser> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new Error("No browser found: install Chrome or set TEST_BROWSER=/path/to/chrome");
  }
  const folder = path.join(homedir(), ".cache", "doorward-test-chromium-143");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // The package reads both at import: the second makes it unpack its libraries.
  return withEnvironment(
    { TMPDIR: folder, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs20.x" },
    async () => {
      const { default: packaged } = await import("@sparticuz/chromium");
      const env = {
        ...process.env,
        LD_LIBRARY_PATH: path.join(folder, "al2023", "lib"),
        FONTCONFIG_PATH: path.join(folder, "fonts"),
      } as Record<string, string>;
      return chromium.launch({ executablePath: await packaged.executablePath(), env, args });
    },
  );
}

async function withEnvironment<T>(
  values: Record<string, string>,
  work: () => Promise<T>,
): Promise<T> {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, values);
  try {
    return await work();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
