import { connect } from "node:net";
import { controlSocketPaths } from "../config/control-socket.ts";
import type { Environment } from "../config/load/index.ts";
import { sshTunnelCommand } from "./desktop.ts";

export interface BannerFacts {
  readonly version: string;
  readonly home: string;
  readonly addresses: readonly URL[];
  readonly state: string;
  readonly source: string;
  /** The token, when it may be shown here. */
  readonly token?: string;
  /** What to do to see it, when it may not. */
  readonly tokenHint?: string;
  readonly link: string;
  readonly opened: boolean;
  readonly remote: boolean;
  /** `ws://…/pico` when the channel is on. */
  readonly channel?: string;
  /** The program that answers; absent: the echo. */
  readonly program?: string;
}

const tokenSourceLabels: Readonly<Record<string, string>> = {
  env: "environment variable SERVICE_LAUNCHER_TOKEN",
  config: '"launcher_token" in launcher-config.json',
  random: "generated at this first start",
};

/** What a person sees in the terminal once everything is up. */
export function banner(facts: BannerFacts): string {
  const { addresses, source, token, tokenHint, link, opened, remote, channel, program } = facts;
  const [first] = addresses;
  const row = (name: string, text: string): string => `  ${name.padEnd(10)} ${text}`;
  const rows = [
    `Doorward ${facts.version}`,
    "",
    ...addresses.map((url, at) => row(at === 0 ? "Dashboard" : "", url.href)),
    row("Token", `${tokenSourceLabels[source] ?? source} (source: ${source})`),
    ...(token === undefined ? [] : [row("", token)]),
    ...(tokenHint === undefined ? [] : [row("", tokenHint)]),
    row(
      "Sign in",
      opened ? "your browser was opened; or once, within 5 minutes:" : "once, within 5 minutes:",
    ),
    row("", link),
    row("Pico", channel ?? "off; the dashboard turns it on"),
    row("Program", program ?? "none, the launcher echoes; yours: doorward run -- python3 agent.py"),
    row("Files", facts.home),
  ];
  if (facts.state === "setup")
    rows.push("", "  First run: open the link and choose the token for this dashboard.");
  if (remote && first) rows.push("", "  From your own machine:", `    ${sshTunnelCommand(first)}`);
  return `${rows.join("\n")}\n\n`;
}

/** What a failed start tells beside its reason, or nothing: what the owner of this home can do about it. */
export async function startFailureRemedy(
  code: string,
  home: string,
  env: Environment,
): Promise<string> {
  if (code === "store_unavailable") {
    return (
      ` Mend that, name another folder in SERVICE_HOME, or give the launcher's token in SERVICE_LAUNCHER_TOKEN, ` +
      "so that none has to be written."
    );
  }
  const isOwn = code === "HTTP_PORT_IN_USE" && (await isRunning(home, env));
  return isOwn
    ? '. The launcher of this home runs already: "doorward open" shows its dashboard.'
    : "";
}

/** Whether a launcher of this home takes commands. */
function isRunning(home: string, env: Environment): Promise<boolean> {
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
