// `doorward status`: prints the state of the running launcher.
import { formatUtc } from "../../lib/util.ts";
import type { StoreHealth } from "../../plugins/conversations/index.ts";
import { sanitizeLine } from "../client/text.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";
import { askLauncher, reportNotRunning, reportRejected } from "./control-client.ts";

interface Status {
  readonly state: string;
  readonly version: string;
  readonly startedAt: number;
  readonly addresses: readonly string[];
  readonly sessions: number;
  readonly plugins: readonly {
    readonly name: string;
    readonly state: string;
    readonly reason?: string;
  }[];
  readonly program?: {
    readonly state: string;
    readonly command: string;
    readonly restarts: number;
  };
  /** Open questions of the application. */
  readonly questions?: number;
  readonly refusedEdits: readonly string[];
  readonly channelUrl?: string;
  readonly channel?: {
    readonly enabled: boolean;
    readonly connections: number;
    readonly maxConnections: number;
  };
  /** Channels of other authors. */
  readonly channels?: readonly {
    readonly name: string;
    readonly isKept: boolean;
    readonly received: number;
    readonly sent: number;
    readonly sessions: number;
  }[];
  /** Protocols of other products, for example the OpenAI API. */
  readonly protocols?: readonly {
    readonly title: string;
    readonly enabled: boolean;
    readonly url?: string;
  }[];
  /** `nodes`: those that share the store of conversations. */
  readonly store?: { readonly nodes?: readonly NodeView[] };
}
type NodeView = NonNullable<StoreHealth["nodes"]>[number];

export async function status(context: CommandContext): Promise<number> {
  if (context.words.length > 0) throw new UsageError('"status" takes only options');
  const answer = await askLauncher<Status>(context, "GET", "status");
  if (!answer) return reportNotRunning(context);
  if (answer.status !== 200) return reportRejected(context, answer.body);
  const { state, version, startedAt, addresses, sessions, channel, channelUrl, program, plugins } =
    answer.body;
  if (context.json) {
    printJson(context, { running: true, ...answer.body });
    return exitCodes.done;
  }
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
  for (const { name, isKept, received, sent, sessions: open } of answer.body.channels ?? []) {
    const kept = isKept ? "" : ", not kept";
    row("Channel", `${name}: ${open} sessions, ${received} received, ${sent} sent${kept}`);
  }
  for (const { title, enabled, url } of answer.body.protocols ?? [])
    if (enabled) row(title, ["on", url].filter(Boolean).join(": "));
  if (program) row("Program", `${program.state}, restarts ${program.restarts}: ${program.command}`);
  const open = answer.body.questions ?? 0;
  if (open > 0)
    row("Questions", context.hinted(`${open} waiting for an answer: doorward questions`));
  for (const { name, state: how, reason } of plugins)
    row("Plugin", [name, how, reason].filter(Boolean).join(": "));
  for (const node of answer.body.store?.nodes ?? []) row("Node", describeNode(node));
  for (const text of answer.body.refusedEdits) row("Files", text);
  return exitCodes.done;
}

/** Doorward counts connections of this node only, and sessions of all nodes that share a store. */
function describeNode({ name, state, sessions, isSelf, differs }: NodeView): string {
  const count = `${sessions} ${sessions === 1 ? "session" : "sessions"}`;
  const marks = [isSelf ? "these connections" : "", differs ? "other settings of the channel" : ""];
  return `${name}: ${[state, count, ...marks].filter(Boolean).join(", ")}`;
}
