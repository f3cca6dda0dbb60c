/** Words for questions and their settlements. @module */
import type { Question, QuestionSettlement } from "../../channels/index.ts";
import { formatUtc } from "./format.ts";

const places: Readonly<Record<string, string>> = {
  dashboard: "in the dashboard",
  cli: "on the command line",
  pico: "over the channel",
  openai: "over the OpenAI API",
  ai_sdk: "over the AI SDK",
  ag_ui: "over AG-UI",
  host: "by the host",
};

const endings: Readonly<Record<string, string>> = {
  dismissed: "Dismissed",
  expired: "Expired",
  stopped: "Stopped",
  withdrawn: "Withdrawn by the application",
  lost: "Lost: the application ended or was restarted",
};

/** @returns One line with the choice, the person, the place and the time. */
export function settlementText(
  { options = [] }: Pick<Question, "options">,
  { outcome, option, options: chosen, text, by, via, at }: QuestionSettlement,
): string {
  const labelOf = (id: string): string => options.find((one) => one.id === id)?.label ?? id;
  const ids = [...(option === undefined ? [] : [option]), ...(chosen ?? [])];
  const answer = ids.length > 0 ? ids.map(labelOf).join(", ") : "Answered";
  const who = by && `by ${by.name ?? by.id}`;
  const where = outcome === "answered" || outcome === "dismissed" ? places[via] : undefined;
  const reason = text === undefined ? [] : [`“${text}”`];
  const what = outcome === "answered" ? answer : (endings[outcome] ?? outcome);
  return [what, ...reason, who, where, formatUtc(at)].filter(Boolean).join(" · ");
}
