// Builds the text that the terminal shows after the start, and hints for failed starts.
import { connect } from "node:net";
import { codeOf, type DoorwardError } from "../kernel/index.ts";
import { controlSocketPaths } from "../config/control-socket.ts";
import type { Environment } from "../config/load/index.ts";
import { sanitize, sanitizeLine } from "./client/text.ts";
import { sshTunnelCommand } from "./desktop.ts";

export interface BannerOptions {
  readonly version: string;
  readonly home: string;
  readonly addresses: readonly URL[];
  readonly state: string;
  readonly source: string;
  /** The token, if it may be shown. */
  readonly token?: string | undefined;
  readonly link: string;
  readonly opened: boolean;
  readonly remote: boolean;
  /** `ws://…/pico`, if the channel is on. */
  readonly channel?: string | undefined;
  /** The protocols of other products that are on. */
  readonly protocols?: readonly { readonly title: string; readonly url: string }[];
  /** The program that answers messages; absent: the echo. */
  readonly program?: string | undefined;
  /** Marks of an env file in environment variables. */
  readonly environmentProblems?: readonly string[];
  /** Why conversations are not kept on disk, although they should be. */
  readonly storeProblem?: string | undefined;
  /** Plugins by other authors that do not run, and why. */
  readonly pluginProblems?: readonly string[];
}

const tokenSourceLabels: Readonly<Record<string, string>> = {
  env: "environment variable SERVICE_LAUNCHER_TOKEN",
  config: '"launcher_token" in launcher-config.json',
  random: "generated at the first start",
};

/** @returns The text for the terminal once the launcher runs. */
export function banner(options: BannerOptions): string {
  const { addresses, source, token, link, opened, remote, channel, program } = options;
  const [first] = addresses;
  const row = (name: string, text: string): string => `  ${name.padEnd(10)} ${sanitize(text)}`;
  const rows = [
    `Doorward ${options.version}`,
    "",
    ...addresses.map((url, index) => row(index === 0 ? "Dashboard" : "", url.href)),
    row("Token", `${tokenSourceLabels[source] ?? source} (source: ${source})`),
    ...(token === undefined && source === "env"
      ? []
      : [row("", token ?? "to show it: doorward token show")]),
    row(
      "Sign in",
      opened
        ? "your browser was opened; or open this link (valid once, for 5 minutes):"
        : "open this link (valid once, for 5 minutes):",
    ),
    row("", link),
    row("Pico", channel ?? "off; turn it on in the dashboard"),
    ...(options.protocols ?? []).map(({ title, url }) => row(title, url)),
    row(
      "Program",
      program ?? "none (messages are echoed); to run one: doorward run -- python3 agent.py",
    ),
    ...(options.environmentProblems ?? []).map((text) => row("Warning", text)),
    ...(options.storeProblem === undefined ? [] : [row("Store", options.storeProblem)]),
    ...(options.pluginProblems ?? []).map((text) => row("Plugin", sanitizeLine(text))),
    row("Files", options.home),
  ];
  if (options.state === "setup")
    rows.push("", "  First run: open the link and choose the token for this dashboard.");
  if (remote && first)
    rows.push("", "  On your own machine, run:", `    ${sshTunnelCommand(first)}`);
  return `${rows.join("\n")}\n\n`;
}

/** @returns The reason of a failed start, with what the owner can do about it. */
export async function startFailureSentence(
  error: Error,
  home: string,
  env: Environment,
): Promise<string> {
  const code = codeOf(error);
  const reason = error.message;
  // The store of conversations has the same code, and says itself what to do.
  const isFile = (error as Partial<DoorwardError>).details?.["errno"] !== undefined;
  if (code === "store_unavailable" && isFile) {
    return (
      `${reason} Fix this, set SERVICE_HOME to another folder, or set SERVICE_LAUNCHER_TOKEN, ` +
      "so that no token has to be written."
    );
  }
  const isInUse = code === "HTTP_PORT_IN_USE" || code === "STORE_IN_USE";
  if (!isInUse || !(await isRunning(home, env))) return reason;
  return (
    "The launcher of this home is already running. To open its dashboard: doorward open\n" +
    `(${reason.replace(/\.$/, "")})`
  );
}

/** Checks whether a launcher of this home accepts commands. */
export function isRunning(home: string, env: Environment): Promise<boolean> {
  const { socket: path } = controlSocketPaths(home, env);
  if (path === undefined) return Promise.resolve(false);
  return new Promise((done) => {
    const end = (is: boolean) => (): void => {
      socket.destroy();
      done(is);
    };
    const socket = connect(path).setTimeout(1_000).once("connect", end(true));
    socket.once("error", end(false)).once("timeout", end(false));
  });
}
