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
  acp: "in an editor",
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

/** Why nothing has followed an answer. */
export const unfinishedTexts = {
  waiting: "This answer waits for the application.",
  ended: "The application ended after this answer and wrote nothing more. Check what it did.",
} as const;

type Option = NonNullable<Question["options"]>[number];
type Effect = NonNullable<Option["effect"]>;

const effects: Readonly<Record<Effect, { readonly word: string; readonly begins: RegExp }>> = {
  allow: {
    word: "Allow",
    begins: /^(?:allow|yes|ok|okay|approve|accept|permit|grant|confirm|continue|proceed|run)\b/i,
  },
  deny: {
    word: "Deny",
    begins:
      /^(?:deny|no|not|never|don['’]?t|do not|reject|refuse|decline|block|cancel|stop|abort)\b/i,
  },
};

/** The letters of a label as a person reads them. */
const readable = (label: string): string =>
  label
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "")
    .replace(/^[^\p{L}\p{N}]+/u, "");

/** How the button of an option shows its effect. */
interface OptionLook {
  /** The label. The effect follows, unless the label begins with its word. */
  readonly text: string;
  readonly icon?: string;
  /** False if the label begins with a word of the other effect: it is not the main button. */
  readonly mayLead: boolean;
}

export function lookOfOption({ label, effect }: Pick<Option, "label" | "effect">): OptionLook {
  if (effect === undefined) return { text: label, mayLead: false };
  const { word } = effects[effect];
  const other = effects[effect === "allow" ? "deny" : "allow"];
  const read = readable(label);
  const isNamed = new RegExp(`^${word}\\b`, "i").test(read);
  return {
    text: isNamed ? label : `${label} · ${word}`,
    icon: effect === "allow" ? "circle-check" : "circle-x",
    mayLead: effect === "allow" && !other.begins.test(read),
  };
}

const late: Readonly<Record<string, (at: string) => string>> = {
  answered: (at) => `Another answer came first, at ${at}.`,
  dismissed: (at) => `The question was dismissed at ${at}, before your answer.`,
  expired: (at) => `The question expired at ${at}, before your answer.`,
  stopped: (at) => `The question was stopped at ${at}, before your answer.`,
  withdrawn: (at) => `The application withdrew the question at ${at}, before your answer.`,
  lost: (at) =>
    `The question was lost at ${at}, before your answer: the application ended or was restarted.`,
};

/** @returns Why an answer had no effect. */
export function lateText({ outcome, at }: Pick<QuestionSettlement, "outcome" | "at">): string {
  const sentence = late[outcome] ?? late["answered"]!;
  return sentence(formatUtc(at));
}
