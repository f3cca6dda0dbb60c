// Detects whether there is a desktop and runs programs of it.
import { spawn } from "node:child_process";
import type { Environment } from "./service.ts";

/** @returns Why there is no desktop, or undefined if there is one. */
export function missingDesktopReason(
  env: Environment,
  platform: NodeJS.Platform,
): string | undefined {
  if (env["SSH_CONNECTION"] ?? env["SSH_TTY"]) return "this is a remote terminal (SSH)";
  if (platform === "darwin" || platform === "win32") return undefined;
  if (env["DISPLAY"] || env["WAYLAND_DISPLAY"]) return undefined;
  return "there is no display: DISPLAY and WAYLAND_DISPLAY are not set";
}

/** The only environment variables that programs of the desktop receive. */
const desktopVariables = [
  "PATH",
  "HOME",
  "USER",
  "LANG",
  "LC_ALL",
  "TMPDIR",
  "DISPLAY",
  "XAUTHORITY",
  "WAYLAND_DISPLAY",
  "XDG_RUNTIME_DIR",
  "XDG_SESSION_TYPE",
  "XDG_CURRENT_DESKTOP",
  "DBUS_SESSION_BUS_ADDRESS",
  "SystemRoot",
  "TEMP",
  "TMP",
  "USERPROFILE",
  "APPDATA",
  "LOCALAPPDATA",
];

export const desktopEnvironment = (env: Environment): Record<string, string> =>
  Object.fromEntries(
    desktopVariables.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );

/** Clipboard programs exit quickly; a hung one is killed. */
const childLimits = { timeout: 5_000, killSignal: "SIGKILL", windowsHide: true } as const;
const maxOutput = 4_096;

/**
 * Runs a program without a shell and passes `input` on standard input, because other users can see
 * arguments. Output is ignored: clipboard programs stay in the background and would keep a pipe
 * open.
 *
 * @returns True if the program exits with status 0.
 */
export function runWithInput(
  command: readonly string[],
  input: string,
  env: Environment,
): Promise<boolean> {
  const [name = "", ...words] = command;
  return new Promise<boolean>((resolve) => {
    const child = spawn(name, words, {
      stdio: ["pipe", "ignore", "ignore"],
      env: desktopEnvironment(env),
      ...childLimits,
    });
    child.once("error", () => resolve(false)).once("exit", (code) => resolve(code === 0));
    child.stdin.on("error", () => undefined).end(input);
  }).catch(() => false); // spawn throws some errors synchronously
}

/** @returns The output of a program, cut if it is long; `""` if the program cannot be started. */
export function runForOutput(
  [name = "", ...words]: readonly string[],
  env: Environment,
): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(name, words, {
      stdio: ["ignore", "pipe", "ignore"],
      env: desktopEnvironment(env),
      ...childLimits,
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.length > maxOutput) child.kill();
    });
    child.once("error", () => resolve("")).once("close", () => resolve(output));
  });
}
