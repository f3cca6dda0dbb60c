// Says in one sentence how a question was settled, for clients that show only text.
import { toLine } from "../../lib/util.ts";
import { effectOf } from "./question-answer.ts";
import type { Question, QuestionSettlement } from "./contract.ts";

const places: Readonly<Record<string, string>> = {
  dashboard: "in the dashboard",
  ask: "on the page of the question",
  cli: "on the command line",
  push: "from a notification",
  acp: "in an editor",
};

const maxText = 200;
const quoted = (text: string): string => `“${toLine(text).slice(0, maxText)}”`;

function chosen({ options = [] }: Question, ids: readonly string[]): string {
  const labels = ids.map((id) => options.find((option) => option.id === id)?.label ?? id);
  return labels.map(quoted).join(", ");
}

/** @returns What the person did, and what they said about it. */
function actOf(
  question: Question,
  settled: QuestionSettlement,
): readonly [act: string, reason: string | undefined] {
  const { outcome, option, options, values, text } = settled;
  if (outcome === "dismissed") return ["Dismissed", text];
  if (options !== undefined) return [`Answered ${chosen(question, options)}`, text];
  if (values !== undefined) return ["Answered with the form", text];
  if (option === undefined) return ["Answered", text];
  const effect = effectOf(question, settled);
  if (effect === undefined) return [`Answered ${chosen(question, [option])}`, text];
  return [`${effect === "allow" ? "Allowed" : "Denied"} (${chosen(question, [option])})`, text];
}

const withoutPerson: Readonly<Partial<Record<QuestionSettlement["outcome"], string>>> = {
  expired: "This question expired before it was answered.",
  withdrawn: "The application withdrew this question.",
};

/** @returns The sentence that follows the question in its last text. */
export function toSentence(question: Question, settled: QuestionSettlement, lost: string): string {
  const { outcome, by, via } = settled;
  const person = by === undefined ? "" : ` by ${toLine(by.name ?? by.id)}`;
  if (outcome === "lost") return lost;
  if (outcome === "stopped") return `Stopped${person} before this was answered.`;
  const place = places[via] === undefined ? "" : `, ${places[via]}`;
  const [act, text] = actOf(question, settled);
  const reason = text === undefined ? "" : `: ${quoted(text)}`;
  return withoutPerson[outcome] ?? `${act}${person}${place}${reason}.`;
}
