// Starts the user's browser, and names what a user on another machine does instead.
import { spawn } from "node:child_process";
import { hostname, userInfo } from "node:os";

type Environment = Readonly<Record<string, string | undefined>>;

/** Opens an address in the user's browser; false when no browser could be started. Every user of
 *  the machine can read the address in the argument list: what signs in is opened by
 *  `createSignInPages`. */
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
  // In a remote terminal of VS Code `BROWSER` opens addresses on the user's own machine, where no
  // file of this one is.
  const isElsewhere = url.startsWith("file:") && Boolean(env["VSCODE_IPC_HOOK_CLI"]);
  const own = env["BROWSER"] && !isElsewhere ? [[env["BROWSER"], url]] : [];
  const desktop =
    env["DISPLAY"] || env["WAYLAND_DISPLAY"]
      ? [
          ["xdg-open", url],
          ["gio", "open", url],
        ]
      : [];
  return isRemote(env) ? own : [...own, ...desktop];
}

/** A terminal on another machine: its user's browser is not here. */
export const isRemote = (env: Environment): boolean =>
  Boolean(env["SSH_CONNECTION"] ?? env["SSH_TTY"]);

/** The command that makes the address of a launcher here one of the person's own machine. */
export const sshTunnelCommand = ({ port }: URL): string =>
  `ssh -L ${port}:127.0.0.1:${port} ${userPrefix()}${hostname()}`;

/** Nothing for a user without a name, as containers may have. */
function userPrefix(): string {
  try {
    return `${userInfo().username}@`;
  } catch {
    return "";
  }
}

/** True when the program ended well or is still running after 1.5 s, as browsers do. */
function runsSuccessfully(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise<boolean>((resolve) => {
    const child = spawn(command, args, { stdio: "ignore", detached: true });
    const patience = setTimeout(() => {
      child.unref();
      resolve(true);
    }, 1_500);
    const settle = (opened: boolean): void => {
      clearTimeout(patience);
      resolve(opened);
    };
    child.once("error", () => settle(false));
    child.once("exit", (code) => settle(code === 0));
  }).catch(() => false); // some reasons are thrown: a part of the path is no folder
}
