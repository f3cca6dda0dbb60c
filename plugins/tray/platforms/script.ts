// Runs the tray of macOS and Windows as a script in a child process. It reads lines of JSON
// ({"view":…}, {"notify":…}), writes {"ready":true}, {"choice":…} and {"error":…}, and exits at the
// end of its standard input.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import { fileURLToPath, pathToFileURL } from "node:url";
import { encodePng, iconsFor } from "../icon.ts";
import {
  menuChoices,
  type TrayBackend,
  type TrayBackendOptions,
  type TrayView,
} from "../service.ts";
import { isObject } from "../../../lib/util.ts";

interface ScriptOptions {
  readonly command: readonly string[];
  /** Size of the icon in pixels; one of the sizes that `iconsFor` returns. */
  readonly iconSize: number;
}

const maxLineLength = 4_096;
const startTimeoutMs = 20_000;

/** @returns The path of a script in `dist`, both for the bundled program and for the sources. */
function scriptFile(name: string): string {
  const manifest = createRequire(import.meta.url).resolve("doorward/package.json");
  return fileURLToPath(new URL(`dist/plugins/tray/scripts/${name}`, pathToFileURL(manifest)));
}

/** Rejects if the script cannot be started or does not report that it is ready. */
export async function openScript(
  { command, iconSize }: ScriptOptions,
  options: TrayBackendOptions,
): Promise<TrayBackend> {
  const { env, choose, shown, log, after, closing } = options;
  closing.throwIfAborted();
  const [name = "", ...words] = command;
  const child = spawn(name, words, { stdio: ["pipe", "pipe", "ignore"], env, windowsHide: true });
  const send = (line: object): void => void child.stdin.write(`${toAsciiJson(line)}\n`);
  const ended = new Promise<never>((_, reject) => {
    child.once("error", (error) =>
      reject(new Error(`${name} cannot be started (${error.message})`)),
    );
    child.once("exit", (code) =>
      reject(new Error(`the tray script exited (${code ?? "by a signal"})`)),
    );
  });
  child.stdin.on("error", () => undefined);
  const closed = new Promise<never>((_, reject) => {
    closing.addEventListener(
      "abort",
      () => {
        child.stdin.end();
        // A closed pipe would end a script that is still writing before it removes its icon.
        (child.stdout as Socket).unref();
        child.unref(); // a hung script must not keep this process alive
        reject(new Error("the tray was closed"));
      },
      { once: true },
    );
  });
  closed.catch(() => undefined);

  const ready = new Promise<void>((resolve, reject) => {
    const release = after(startTimeoutMs, () =>
      reject(new Error("the tray script does not respond")),
    );
    void ended.catch(release);
    readLines(child.stdout, (line) => {
      if (closing.aborted) return;
      const { ready: isReady, choice, error } = parseObject(line);
      if (isReady === true) {
        release();
        resolve();
      }
      const known = menuChoices.find((one) => one === choice);
      if (known) choose(known);
      if (typeof error === "string")
        log.warn({ reason: error.slice(0, 300) }, "the tray script reported an error");
    });
  });
  send({ view: toScriptView(options.view, iconSize) });
  try {
    await Promise.race([ready, ended, closed]);
  } catch (error) {
    child.kill();
    throw error;
  }
  shown(true);
  ended.catch((error: Error) => {
    shown(false);
    if (!closing.aborted)
      log.warn({ reason: error.message }, "the tray script exited; the icon stays hidden");
  });
  return {
    show: (view) => send({ view: toScriptView(view, iconSize) }),
    notify: async (text) => {
      send({ notify: text });
      return child.exitCode === null;
    },
  };
}

/** Escapes all characters outside printable ASCII, so that no console encoding can change them. */
const toAsciiJson = (line: object): string =>
  JSON.stringify(line).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Adds the icon as a PNG file in base64. */
function toScriptView({ title, hint, state, items }: TrayView, iconSize: number): object {
  const icon = iconsFor(state).find(({ size }) => size === iconSize);
  return { title, hint, items, icon: icon && encodePng(icon).toString("base64") };
}

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (piece: string) => {
    const lines = `${text}${piece}`.split("\n");
    text = lines.pop()!.slice(0, maxLineLength);
    for (const line of lines) if (line.length <= maxLineLength) onLine(line);
  });
}

/** @returns The fields of a line; none if the line is not a JSON object. */
function parseObject(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Shows the icon in the menu bar of macOS, with tools that are part of macOS. */
export const openMacos = (options: TrayBackendOptions): Promise<TrayBackend> =>
  openScript(
    {
      command: ["/usr/bin/osascript", "-l", "JavaScript", scriptFile("menu-bar.js")],
      iconSize: 48,
    },
    options,
  );

/**
 * Shows the icon in the notification area of Windows, with tools that are part of Windows. Uses the
 * full path of PowerShell, because Windows looks for programs in the current folder first.
 */
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
