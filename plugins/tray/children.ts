import { spawn } from "node:child_process";

type Environment = Readonly<Record<string, string | undefined>>;

/** What programs of the desktop need; nothing else of the environment reaches them. */
const wanted = [
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
    wanted.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );

/** Programs of the clipboard answer at once; one that hangs is ended. */
const limits = { timeout: 5_000, killSignal: "SIGKILL", windowsHide: true } as const;
const MOST_READ = 4_096;

/** Gives a program its input, without a shell; true when it ends well. What it is given travels by standard input:
 *  arguments can be seen by everybody. A clipboard's owner lives on in the background: it gets no stream to hold. */
export function feedProgram(
  command: readonly string[],
  input: string,
  env: Environment,
): Promise<boolean> {
  const [name = "", ...words] = command;
  return new Promise<boolean>((resolve) => {
    const child = spawn(name, words, {
      stdio: ["pipe", "ignore", "ignore"],
      env: desktopEnvironment(env),
      ...limits,
    });
    child.once("error", () => resolve(false)).once("exit", (code) => resolve(code === 0));
    child.stdin.on("error", () => undefined).end(input);
  }).catch(() => false); // some reasons are thrown
}

/** What a program prints; the beginning of it when it is long, nothing when it cannot be started. */
export function readProgram(
  [name = "", ...words]: readonly string[],
  env: Environment,
): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(name, words, {
      stdio: ["ignore", "pipe", "ignore"],
      env: desktopEnvironment(env),
      ...limits,
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.length > MOST_READ) child.kill();
    });
    child.once("error", () => resolve("")).once("close", () => resolve(output));
  });
}
