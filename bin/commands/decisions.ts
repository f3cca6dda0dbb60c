// `doorward decisions`: lists the settled questions, and their effects.
import type { Decision, DecisionList } from "../../plugins/decisions/index.ts";
import { formatUtc } from "../../lib/util.ts";
import { sanitizeLine } from "../client/text.ts";
import { UsageError, type CommandContext } from "./command.ts";
import { askAndPrint } from "./control-client.ts";
import { toSeconds } from "./duration.ts";

const maxLimit = 1_000;

export async function decisions(context: CommandContext): Promise<number> {
  if (context.words.length > 0) throw new UsageError('"decisions" takes only options');
  const { since: given = "7d", limit = "200" } = context.values;
  const since = Date.now() - toSeconds("since", String(given)) * 1_000;
  if (!/^\d{1,4}$/.test(String(limit)) || Number(limit) < 1 || Number(limit) > maxLimit)
    throw new UsageError(`"-limit" takes a number from 1 to ${maxLimit}`);
  const path = `decisions?since=${Math.max(0, since)}&limit=${String(limit)}`;
  return askAndPrint<DecisionList>(context, ["GET", path], ({ decisions: list, isComplete }) => {
    for (const each of list.toReversed()) context.out(`${describe(each).join("\n  ")}\n`);
    if (list.length === 0) context.say(`no question was settled since ${formatUtc(since)}\n`);
    if (!isComplete) context.say("there may be more: raise -limit, or shorten -since\n");
  });
}

const followedTexts: Readonly<Record<string, string>> = {
  completed: "then the answer ended",
  stopped: "then the answer was stopped",
  failed: "then the answer failed",
};

function describe(decision: Decision): string[] {
  const { at, outcome, effect, chosen, text, by, person, via, session, isDeleted, kind } = decision;
  const who = by === undefined ? "" : ` by ${person === undefined ? by : `${person} (${by})`}`;
  const effects = effect === undefined ? "" : ` [${effect}]`;
  const what = chosen ? `"${chosen.join(", ")}"${effects}` : `${outcome}${effects}`;
  const place = isDeleted ? `(deleted conversation) ${kind}` : (session ?? "");
  const { question = "", subject, tool, arguments: given, followed } = decision;
  const lines = [`${formatUtc(at)}  ${place}: ${what}${who}, ${via}`];
  if (!isDeleted) lines.push(subject ?? question.split("\n", 1)[0]!);
  if (text !== undefined) lines.push(`Text: ${text}`);
  if (tool !== undefined) lines.push(`${tool} ${given ?? ""}`);
  if (followed) {
    const code = followed.code === undefined ? "" : ` (${followed.code})`;
    lines.push(`${followedTexts[followed.outcome] ?? followed.outcome}${code}`);
  }
  return lines.map(sanitizeLine);
}
