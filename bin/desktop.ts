// Starts the user's browser, and explains how to reach the dashboard from another machine.
import { spawn } from "node:child_process";
import { hostname, userInfo } from "node:os";

type Environment = Readonly<Record<string, string | undefined>>;

/** Opens an address in the user's browser; false if no browser could be started. Other users of
 *  the machine can read the address in the argument list, so `createSignInPages` opens sign-in
 *  links. */
export async function openBrowser(
  url: URL,
  env: Environment,
  platform = process.platform,
): Promise<boolean> {
  for (const [command, ...args] of openers(url.href, env, platform)) {
    if (command !== undefined && (await runsSuccessfully(command, args))) return true;
  }
  return false;
}

function openers(url: string, env: Environment, platform: NodeJS.Platform): string[][] {
  if (platform === "darwin") return [["open", url]];
  if (platform === "win32") return [["rundll32.exe", "url.dll,FileProtocolHandler", url]];
  // In a remote terminal of VS Code, `BROWSER` opens addresses on the user's own machine, which
  // does not have the files of this one.
  const isUnreachableFile = url.startsWith("file:") && Boolean(env["VSCODE_IPC_HOOK_CLI"]);
  const fromVariable = env["BROWSER"] && !isUnreachableFile ? [[env["BROWSER"], url]] : [];
  const desktop =
    env["DISPLAY"] || env["WAYLAND_DISPLAY"]
      ? [
          ["xdg-open", url],
          ["gio", "open", url],
        ]
      : [];
  return isRemote(env) ? fromVariable : [...fromVariable, ...desktop];
}

/** True in an SSH session: the browser is on another machine. */
export const isRemote = (env: Environment): boolean =>
  Boolean(env["SSH_CONNECTION"] ?? env["SSH_TTY"]);

/** @returns The command that makes the launcher reachable at 127.0.0.1 of the user's own
 *  machine. */
export const sshTunnelCommand = ({ port }: URL): string =>
  `ssh -L ${port}:127.0.0.1:${port} ${userPrefix()}${hostname()}`;

/** Returns an empty text for a user without a name, as in some containers. */
function userPrefix(): string {
  try {
    return `${userInfo().username}@`;
  } catch {
    return "";
  }
}

/** True if the program exits with 0, or still runs after 1.5 s, as browsers do. */
function runsSuccessfully(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise<boolean>((resolve) => {
    const child = spawn(command, args, { stdio: "ignore", detached: true });
    const timeout = setTimeout(() => {
      child.unref();
      resolve(true);
    }, 1_500);
    const settle = (opened: boolean): void => {
      clearTimeout(timeout);
      resolve(opened);
    };
    child.once("error", () => settle(false));
    child.once("exit", (code) => settle(code === 0));
  }).catch(() => false); // `spawn` throws some errors, as for an invalid path
}
