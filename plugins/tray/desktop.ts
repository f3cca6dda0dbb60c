import { spawn } from "node:child_process";

type Environment = Readonly<Record<string, string | undefined>>;

/** Why there is no desktop here, when there is none. */
export function missingDesktopReason(
  env: Environment,
  platform: NodeJS.Platform,
): string | undefined {
  if (env["SSH_CONNECTION"] ?? env["SSH_TTY"]) return "this is a terminal on another machine";
  if (platform === "darwin" || platform === "win32") return undefined;
  if (env["DISPLAY"] || env["WAYLAND_DISPLAY"]) return undefined;
  return "there is no display: DISPLAY and WAYLAND_DISPLAY are not set";
}

type ChildEnvironment = Readonly<Record<string, string | undefined>>;

/** What programs of the desktop need; nothing else of the environment reaches them. */
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

export const desktopEnvironment = (env: ChildEnvironment): Record<string, string> =>
  Object.fromEntries(
    desktopVariables.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );

/** Programs of the clipboard answer at once; one that hangs is ended. */
const childLimits = { timeout: 5_000, killSignal: "SIGKILL", windowsHide: true } as const;
const maxOutput = 4_096;

/** Gives a program its input, without a shell; true when it ends well. What it is given travels by standard input:
 *  arguments can be seen by everybody. A clipboard's owner lives on in the background: it gets no stream to hold. */
export function runWithInput(
  command: readonly string[],
  input: string,
  env: ChildEnvironment,
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
  }).catch(() => false); // some reasons are thrown
}

/** What a program prints; the beginning of it when it is long, nothing when it cannot be started. */
export function runForOutput(
  [name = "", ...words]: readonly string[],
  env: ChildEnvironment,
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
