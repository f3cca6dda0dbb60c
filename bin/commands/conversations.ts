// `doorward conversations`: lists, shows, searches, exports and deletes conversations.
import { formatUtc } from "../../lib/util.ts";
import {
  readCalls,
  droppedTurns,
  turnEnd,
  turnLabel,
  type ConversationSummary,
  type SearchHit,
  type Turn,
  type TurnCall,
} from "../../plugins/conversations/index.ts";
import { escapeUnsafe, sanitize, sanitizeLine } from "../client/text.ts";
import { UsageError, exitCodes, type CommandContext } from "./command.ts";
import { askAndPrint, reportNotRunning, reportRejected, streamLauncher } from "./control-client.ts";

/** Characters of the arguments or the result of a tool call. The export has more. */
const maxCallText = 200;
const wrongUsage = '"conversations" takes: list, show ID, search WORDS, export ID or forget ID';

export async function conversations(context: CommandContext): Promise<number> {
  const [what = "list", ...rest] = context.words;
  const [id = "", ...more] = rest;
  const hasId = /^[\w-]{1,64}$/.test(id) && more.length === 0;
  if (what === "list" && rest.length === 0) return list(context);
  if (what === "search" && rest.length > 0) return search(context, rest.join(" "));
  if (what === "show" && hasId) return show(context, id);
  if (what === "export" && hasId) return exportOne(context, id);
  if (what === "forget" && hasId) return forget(context, id);
  throw new UsageError(wrongUsage);
}

/** @returns The options with these names as a query. */
function queryOf({ values }: CommandContext, names: readonly string[], more: object = {}): string {
  const given = names.flatMap((name) => {
    const value = values[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  return String(new URLSearchParams({ ...Object.fromEntries(given), ...more }));
}

const titleOf = ({ title, session }: ConversationSummary): string =>
  sanitizeLine(title || session).slice(0, 120);

interface ListBody {
  readonly conversations: readonly ConversationSummary[];
  readonly before?: string;
  /** Channels whose messages are not kept. */
  readonly notKept?: readonly string[];
}

function list(context: CommandContext): Promise<number> {
  const path = `conversations?${queryOf(context, ["before", "limit"])}`;
  return askAndPrint<ListBody>(context, ["GET", path], (body) => {
    const { conversations: all, before, notKept = [] } = body;
    for (const one of all) {
      const count = `${one.turns} ${one.turns === 1 ? "message" : "messages"}`;
      const dropped = droppedTurns(one);
      const note = dropped === undefined ? "" : ` (${dropped})`;
      const used = formatUtc(one.usedAt);
      context.out(`${one.id}  used ${used}  ${count}${note}  ${titleOf(one)}\n`);
    }
    if (all.length === 0) context.say("there are no conversations\n");
    if (before !== undefined)
      context.say(`for more: doorward conversations list -before ${before}\n`);
    if (notKept.length > 0) context.say(`not kept: ${notKept.map(sanitizeLine).join(", ")}\n`);
  });
}

function search(context: CommandContext, words: string): Promise<number> {
  const path = `search?${queryOf(context, ["limit"], { q: words })}`;
  return askAndPrint<{ readonly hits: readonly SearchHit[] }>(context, ["GET", path], (body) => {
    for (const { conversation, turn, excerpt } of body.hits)
      context.out(
        `${conversation.id}  ${formatUtc(turn.at)}  ${titleOf(conversation)}\n` +
          `    ${sanitizeLine(excerpt)}\n`,
      );
    if (body.hits.length === 0) context.say("no message contains these words\n");
  });
}

interface ShowBody {
  readonly conversation: ConversationSummary;
  readonly turns: readonly Turn[];
  readonly before?: string;
}

const shorten = (text: string): string => {
  const points = [...sanitizeLine(text.slice(0, 2 * maxCallText))];
  const isLong = points.length > maxCallText || text.length > 2 * maxCallText;
  return isLong ? `${points.slice(0, maxCallText - 1).join("")}…` : points.join("");
};

/** One line for the call, and one for its result. */
function toCallLines({ name, arguments: given, result, error }: TurnCall): string {
  const output = error === undefined ? result : `failed: ${error}`;
  const call = `${sanitizeLine(name)}(${shorten(given)})\n`;
  return output === undefined ? call : `${call}  → ${shorten(output)}\n`;
}

function show(context: CommandContext, id: string): Promise<number> {
  const path = `conversations/${id}?${queryOf(context, ["before", "limit"])}`;
  return askAndPrint<ShowBody>(context, ["GET", path], ({ conversation, turns, before }) => {
    context.out(`${titleOf(conversation)}\n`);
    const dropped = droppedTurns(conversation);
    if (dropped !== undefined && before === undefined) context.out(`\n(${dropped})\n`);
    for (const turn of turns) {
      const media = (turn.attachments ?? []).map(
        ({ type, filename }) => `[${sanitizeLine(filename ?? type)}]\n`,
      );
      const text = turn.content === "" ? "" : `${sanitize(turn.content)}\n`;
      const calls = readCalls(turn).map(toCallLines).join("");
      const heading = `${formatUtc(turn.at)}  ${sanitizeLine(turnLabel(turn))}`;
      const ended = turnEnd(turn);
      const end = ended === undefined ? "" : `(${sanitizeLine(ended)})\n`;
      context.out(`\n${heading}\n${text}${calls}${media.join("")}${end}`);
    }
    if (before !== undefined)
      context.say(`for earlier messages: doorward conversations show ${id} -before ${before}\n`);
  });
}

/** Writes the document to standard output as it arrives. Escapes in JSON keep the values. */
async function exportOne(context: CommandContext, id: string): Promise<number> {
  const { format = "json" } = context.values;
  if (format !== "json" && format !== "markdown")
    throw new UsageError('"-format" takes json or markdown');
  const path = `conversations/${id}/export?format=${format}`;
  const answer = await streamLauncher<object>(context, path, (text) =>
    context.out(format === "json" ? escapeUnsafe(text) : sanitize(text)),
  );
  if (!answer) return reportNotRunning(context);
  return answer.status === 200 ? exitCodes.done : reportRejected(context, answer.body);
}

const forget = (context: CommandContext, id: string): Promise<number> =>
  askAndPrint<{ readonly status: string }>(
    context,
    ["DELETE", `conversations/${id}`],
    ({ status }) =>
      context.say(
        status === "removing" ? "deleted, and being removed from the disk\n" : "deleted\n",
      ),
  );
