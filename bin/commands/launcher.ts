// Commands of the running launcher: open, sessions, status, stop and unblock.
import { isIP } from "node:net";
import { formatUtc } from "../../lib/util.ts";
import type { AttachedChannel } from "../../plugins/channels/index.ts";
import type { BackupView } from "../../plugins/backup/index.ts";
import type { StoreHealth } from "../../plugins/conversations/index.ts";
import type { PluginView, ProtocolStatus } from "../../plugins/dashboard/index.ts";
import type { PicoServerStatus } from "../../plugins/pico-server/index.ts";
import type { ProgramStatus } from "../../plugins/program/index.ts";
import { isRemote, sshTunnelCommand } from "../desktop.ts";
import { createSignInPages } from "../sign-in-page.ts";
import { sanitizeLine } from "../client/text.ts";
import { exitCodes, printJson, UsageError, type CommandContext } from "./command.ts";
import { askAndPrint, askAndUse } from "./control-client.ts";

interface Link {
  readonly url: string;
  readonly copyUrl: string;
  /** The same link on the private host name, where other local programs do not get the cookie. */
  readonly privateUrl?: string;
  readonly expiresAt: number;
}

/** Opens the link through a private page, which the launcher removes after the sign-in. */
export async function open(context: CommandContext): Promise<number> {
  if (context.words.length > 0)
    throw new UsageError('"open" takes only options: doorward open -print');
  return askAndUse<Link>(context, ["POST", "links"], async (link) => {
    const { url, copyUrl, privateUrl = url, expiresAt } = link;
    if (context.json)
      return printJson(context, { url: copyUrl, expiresAt: new Date(expiresAt).toISOString() });
    const opened =
      context.values["print"] !== true &&
      (await createSignInPages(context).open(new URL(privateUrl)));
    if (opened)
      return context.say(
        "your browser was opened; if it shows an error, run: doorward open -print\n",
      );
    context.out(`${copyUrl}\n`);
    context.say("valid once, for 5 minutes\n");
    if (isRemote(context.env))
      context.say(`on your own machine, run first: ${sshTunnelCommand(new URL(url))}\n`);
  });
}

interface Session {
  readonly id: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly address: string;
  readonly userAgent: string;
}

export async function sessions(context: CommandContext): Promise<number> {
  const [what = "list", id, ...more] = context.words;
  if (what === "list" && id === undefined) return listSessions(context);
  if (what === "revoke" && id !== undefined && /^[\w-]+$/.test(id) && more.length === 0)
    return revokeSession(context, id);
  throw new UsageError('"sessions" takes: list, or revoke ID');
}

const listSessions = (context: CommandContext): Promise<number> =>
  askAndPrint<{ sessions: Session[] }>(context, ["GET", "sessions"], (body) => {
    for (const { id, createdAt, lastUsedAt, address, userAgent } of body.sessions) {
      const browser = sanitizeLine(userAgent).slice(0, 120);
      context.out(
        `${id}  since ${formatUtc(createdAt)}  ` +
          `used ${formatUtc(lastUsedAt)}  ${address}  ${browser}\n`,
      );
    }
    if (body.sessions.length === 0) context.say("no browser is signed in\n");
  });

const revokeSession = (context: CommandContext, id: string): Promise<number> =>
  askAndPrint(context, ["DELETE", `sessions/${id}`], () => context.say("signed out\n"));

interface Status {
  readonly state: string;
  readonly version: string;
  readonly startedAt: number;
  readonly addresses: readonly string[];
  readonly sessions: number;
  readonly plugins: readonly PluginView[];
  readonly program?: ProgramStatus;
  /** Open questions of the application. */
  readonly questions?: number;
  readonly refusedEdits: readonly string[];
  readonly channelUrl?: string;
  readonly channel?: PicoServerStatus;
  /** Channels of other authors. */
  readonly channels?: readonly AttachedChannel[];
  readonly protocols?: readonly ProtocolStatus[];
  readonly store?: StoreHealth;
  readonly backup?: BackupView;
}
type NodeView = NonNullable<StoreHealth["nodes"]>[number];

export async function status(context: CommandContext): Promise<number> {
  if (context.words.length > 0) throw new UsageError('"status" takes only options');
  return askAndUse<Status>(context, ["GET", "status"], (body) =>
    context.json ? printJson(context, { running: true, ...body }) : printStatus(context, body),
  );
}

function printStatus(context: CommandContext, found: Status): void {
  const { state, version, startedAt, addresses, sessions, channel, channelUrl, program } = found;
  const row = (name: string, text: string): void =>
    context.out(`${name.padEnd(10)} ${sanitizeLine(text)}\n`);
  row("State", state);
  row("Version", version);
  row("Since", formatUtc(startedAt));
  row("Dashboard", addresses.join(" "));
  row("Signed in", String(sessions));
  const pico =
    channel?.enabled && `on, ${channel.connections} of ${channel.maxConnections} connections`;
  row("Pico", [pico || "off", channelUrl].filter(Boolean).join(": "));
  for (const { name, isKept, received, sent, sessions: open } of found.channels ?? []) {
    const kept = isKept ? "" : ", not kept";
    row("Channel", `${name}: ${open} sessions, ${received} received, ${sent} sent${kept}`);
  }
  for (const { title, enabled, url } of found.protocols ?? [])
    if (enabled) row(title, ["on", url].filter(Boolean).join(": "));
  if (program) row("Program", `${program.state}, restarts ${program.restarts}: ${program.command}`);
  const open = found.questions ?? 0;
  if (open > 0)
    row("Questions", context.hinted(`${open} waiting for an answer: doorward questions`));
  for (const { name, state: how, reason } of found.plugins)
    row("Plugin", [name, how, reason].filter(Boolean).join(": "));
  row("Backup", describeBackup(found.backup));
  for (const node of found.store?.nodes ?? []) row("Node", describeNode(node));
  for (const text of found.refusedEdits) row("Files", text);
}

function describeBackup(backup: BackupView | undefined): string {
  const { last, failed, running = false } = backup ?? {};
  const good = last ? `${formatUtc(last.at)}: ${last.file}` : "none yet";
  if (running) return `one is being made; the last good one: ${good}`;
  return failed ? `failed: ${failed.reason} The last good one: ${good}` : good;
}

/** Doorward counts connections of this node only, and sessions of all nodes that share a store. */
function describeNode({ name, state, sessions, isSelf, differs }: NodeView): string {
  const count = `${sessions} ${sessions === 1 ? "session" : "sessions"}`;
  const marks = [isSelf ? "these connections" : "", differs ? "other settings of the channel" : ""];
  return `${name}: ${[state, count, ...marks].filter(Boolean).join(", ")}`;
}

interface StopResponse {
  /** Sessions in which an answer runs or waits. */
  readonly running: readonly string[];
  /** The session that was stopped; absent if none or several were possible. */
  readonly session?: string;
  readonly stopped: readonly { readonly id: string; readonly status: string }[];
}

const maxListed = 20;

export async function stop(context: CommandContext): Promise<number> {
  if (context.words.length > 0)
    throw new UsageError('"stop" takes only options: doorward stop -session NAME');
  const { session } = context.values;
  const body = typeof session === "string" && session !== "" ? { session } : {};
  return askAndUse<StopResponse>(context, ["POST", "stop", body], (response) =>
    reportStop(context, response),
  );
}

function reportStop(context: CommandContext, response: StopResponse): number {
  if (context.json) printJson(context, response);
  const { running, session, stopped } = response;
  const say = (text: string): void => void (context.json || context.say(`${text}\n`));
  if (session === undefined && running.length > 1) {
    say("answers of several conversations run; name one with -session:");
    for (const name of running.slice(0, maxListed)) say(`  ${sanitizeLine(name)}`);
    if (running.length > maxListed) say(`  and ${running.length - maxListed} more`);
    return exitCodes.failed;
  }
  if (session === undefined || stopped.length === 0) {
    const where = session === undefined ? "" : ` in ${sanitizeLine(session)}`;
    say(`no answer is running${where}`);
    return exitCodes.done;
  }
  const count = stopped.length === 1 ? "1 message" : `${stopped.length} messages`;
  say(`stopped ${count} in ${sanitizeLine(session)}`);
  return exitCodes.done;
}

const reach =
  "This reached the launcher of this home. Other nodes that share the store have blocks of their " +
  "own, which end after a minute.";

export async function unblock(context: CommandContext): Promise<number> {
  const [address, ...more] = context.words;
  if (more.length > 0 || (address !== undefined && isIP(address) === 0)) {
    throw new UsageError('"unblock" takes at most one IP address');
  }
  return askAndPrint<{ nodes: number }>(context, ["POST", "unblock", { address }], ({ nodes }) => {
    context.say(`unblocked: ${address ?? "all addresses"}\n`);
    if (nodes > 1) context.say(`${reach}\n`);
  });
}
