/** Words for questions and their settlements. @module */
import type { Question, QuestionSettlement } from "../../channels/index.ts";
import { formatDuration, formatUtc } from "./format.ts";

const places: Readonly<Record<string, string>> = {
  dashboard: "in the dashboard",
  ask: "on the page of the question",
  push: "from a notification",
  cli: "on the command line",
  pico: "over the channel",
  openai: "over the OpenAI API",
  ai_sdk: "over the AI SDK",
  ag_ui: "over AG-UI",
  acp: "over ACP",
  keys: "with a key",
  host: "by the host",
};

/** Channels and later versions name places that this page does not know. */
const placeOf = (via: string): string | undefined =>
  via === "" ? undefined : Object.hasOwn(places, via) ? places[via] : `over ${via}`;

const endings: Readonly<Record<string, string>> = {
  dismissed: "Dismissed",
  expired: "Expired",
  stopped: "Stopped",
  withdrawn: "Withdrawn by the application",
  lost: "Lost: the application ended or was restarted",
};

/** The outcome of a question, in the words of its options. */
function outcomeText(
  { options = [] }: Pick<Question, "options">,
  { outcome, option, options: chosen, text }: QuestionSettlement,
): readonly string[] {
  const labelOf = (id: string): string => options.find((one) => one.id === id)?.label ?? id;
  const ids = [...(option === undefined ? [] : [option]), ...(chosen ?? [])];
  const answer = ids.length > 0 ? ids.map(labelOf).join(", ") : "Answered";
  const what = outcome === "answered" ? answer : (endings[outcome] ?? outcome);
  return [what, ...(text === undefined ? [] : [`“${text}”`])];
}

const isByPerson = ({ outcome }: QuestionSettlement): boolean =>
  outcome === "answered" || outcome === "dismissed";

/** @returns One line with the choice, the person, the place and the time. */
export function settlementText(
  question: Pick<Question, "options">,
  settled: QuestionSettlement,
): string {
  const { by, via, at } = settled;
  const who = by && `by ${by.name ?? by.id}`;
  const where = isByPerson(settled) ? placeOf(via) : undefined;
  const what = outcomeText(question, settled);
  return [...what, who, where, formatUtc(at)].filter(Boolean).join(" · ");
}

/** @returns The same in fewer words, with how long the question waited, such as `after 4 min`. */
export function shortSettlementText(
  question: Pick<Question, "options">,
  settled: QuestionSettlement,
  askedAt: number,
): string {
  const { by, via, at } = settled;
  const [largest, unit] = formatDuration(at - askedAt).split(" ");
  const where = isByPerson(settled) ? placeOf(via)?.replace(/^\w+ (?:the )?/, "") : undefined;
  const what = outcomeText(question, settled);
  return [...what, by?.name ?? by?.id, where, `after ${largest} ${unit}`]
    .filter(Boolean)
    .join(" · ");
}
