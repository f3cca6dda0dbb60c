/* The tray as a child process that speaks lines of JSON. To it {"view":…} and {"notify":…}, from it {"ready":true},
 * {"choice":…} and {"error":…}. It ends when its standard input does. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { encodePng, iconsFor } from "../icon.ts";
import type { MenuChoice, TrayBackend, TrayBackendOptions, TrayView } from "../service.ts";
import { isObject } from "../../../lib/util.ts";

export interface ScriptOptions {
  readonly command: readonly string[];
  /** Pixels of the icon, of those that are drawn. */
  readonly iconSize: number;
}

const maxLineLength = 4_096;
const startTimeoutMs = 20_000;
const menuChoices = new Set<unknown>([
  "open",
  "copy-token",
  "copy-link",
  "rotate",
  "channel",
  "log",
  "quit",
] satisfies MenuChoice[]);

/** In `dist` of the package, wherever this module stands: in the bundle of the program or in the sources. */
export function scriptFile(name: string): string {
  const manifest = createRequire(import.meta.url).resolve("doorward/package.json");
  return fileURLToPath(new URL(`dist/plugins/tray/scripts/${name}`, pathToFileURL(manifest)));
}

/** Rejects when the script cannot be started or does not say that it is ready. */
export async function openScript(
  { command, iconSize }: ScriptOptions,
  options: TrayBackendOptions,
): Promise<TrayBackend> {
  const { env, choose, shown, log, after, leaving } = options;
  leaving.throwIfAborted();
  const [name = "", ...words] = command;
  const child = spawn(name, words, { stdio: ["pipe", "pipe", "ignore"], env, windowsHide: true });
  const say = (line: object): void => void child.stdin.write(`${toAsciiJson(line)}\n`);
  const ended = new Promise<never>((_, reject) => {
    child.once("error", (error) =>
      reject(new Error(`${name} cannot be started (${error.message})`)),
    );
    child.once("exit", (code) =>
      reject(new Error(`the script of the tray ended (${code ?? "by a signal"})`)),
    );
  });
  child.stdin.on("error", () => undefined);
  const left = new Promise<never>((_, reject) => {
    leaving.addEventListener(
      "abort",
      () => {
        child.stdin.end();
        child.stdout.destroy();
        child.unref(); // one that hangs keeps nobody from ending
        reject(new Error("it was left"));
      },
      { once: true },
    );
  });
  left.catch(() => undefined);

  const ready = new Promise<void>((resolve, reject) => {
    const release = after(startTimeoutMs, () =>
      reject(new Error("the script of the tray does not answer")),
    );
    void ended.catch(release);
    readLines(child.stdout, (line) => {
      const { ready: isReady, choice, error } = parseObject(line);
      if (isReady === true) {
        release();
        resolve();
      }
      if (menuChoices.has(choice)) choose(choice as MenuChoice);
      if (typeof error === "string")
        log.warn({ reason: error.slice(0, 300) }, "the script of the tray complains");
    });
  });
  say({ view: toScriptView(options.view, iconSize) });
  try {
    await Promise.race([ready, ended, left]);
  } catch (error) {
    child.kill();
    throw error;
  }
  shown(true);
  ended.catch((error: Error) => {
    shown(false);
    if (!leaving.aborted) log.warn({ reason: error.message }, "the tray does not come back");
  });
  return {
    show: (view) => say({ view: toScriptView(view, iconSize) }),
    notify: async (text) => {
      say({ notify: text });
      return child.exitCode === null;
    },
  };
}

/** JSON without a character that an encoding or the end of a buffer could break. */
const toAsciiJson = (line: object): string =>
  JSON.stringify(line).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** What the script draws: the icon as a PNG file in base64. */
function toScriptView({ title, hint, state, items }: TrayView, iconSize: number): object {
  const icon = iconsFor(state).find(({ size }) => size === iconSize);
  return { title, hint, items, icon: icon && encodePng(icon).toString("base64") };
}

function readLines(stream: NodeJS.ReadableStream, heard: (line: string) => void): void {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (piece: string) => {
    const lines = `${text}${piece}`.split("\n");
    text = lines.pop()!.slice(0, maxLineLength);
    for (const line of lines) if (line.length <= maxLineLength) heard(line);
  });
}

/** The fields of a line; none when it is not an object. */
function parseObject(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

/** The menu bar of macOS, by what the system ships. */
export const openMacos = (options: TrayBackendOptions): Promise<TrayBackend> =>
  openScript(
    {
      command: ["/usr/bin/osascript", "-l", "JavaScript", scriptFile("menu-bar.js")],
      iconSize: 48,
    },
    options,
  );

/** The notification area of Windows, by what the system ships. By its full name: Windows looks for programs in the
 *  current folder first. */
export function openWindows(options: TrayBackendOptions): Promise<TrayBackend> {
  const root = options.env["SystemRoot"] ?? String.raw`C:\Windows`;
  const shell = String.raw`${root}\System32\WindowsPowerShell\v1.0\powershell.exe`;
  const words = [
    "-NoProfile",
    "-STA",
    "-ExecutionPolicy",
    "Bypass",
    "-File",
    scriptFile("notification-area.ps1"),
  ];
  return openScript({ command: [shell, ...words], iconSize: 32 }, options);
}
