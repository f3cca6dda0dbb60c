// Texts of notifications, and the form in which the worker and Safari read them.
import { hash } from "node:crypto";
import type { OpenQuestion } from "../channels/index.ts";
import type { PushConfig } from "./config.ts";

export const productName = "Doorward";
const maxContent = 120;

/** A button of a notification. */
export interface Action {
  /** Id of the option, or `open`. */
  readonly action: string;
  readonly title: string;
}

export interface Notice {
  readonly body: string;
  /** Where a tap leads. */
  readonly navigate: string;
  /** Notifications of one tag replace each other. */
  readonly tag: string;
  readonly ticket?: string;
  readonly actions?: readonly Action[];
  /** It replaces an earlier state. */
  readonly isUpdate?: true;
}

/**
 * @returns The message in the form of Declarative Web Push, which Safari shows without a worker.
 *   `d` is for the worker of Doorward.
 */
export function toMessage({ body, navigate, tag, ...own }: Notice): Buffer {
  const notification = { title: productName, body, navigate, tag, silent: own.isUpdate === true };
  return Buffer.from(JSON.stringify({ web_push: 8030, notification, d: own }));
}

/** At most 32 characters, as RFC 8030 wants them for a topic. */
export const topicOf = (...parts: readonly string[]): string =>
  hash("sha256", JSON.stringify(parts), "base64url").slice(0, 32);

const isControl = /[\p{Cc}\p{Cf}\p{Cs}\s]+/gu;

/** @returns The first characters in one line, without signs that change how the rest is shown. */
export function excerpt(text: string): string {
  const line = text
    .slice(0, 4 * maxContent)
    .replace(isControl, " ")
    .trim();
  const points = [...line];
  return points.length > maxContent ? `${points.slice(0, maxContent - 1).join("")}…` : line;
}

const count = (n: number, one: string, many: string): string => (n === 1 ? one : `${n} ${many}`);

export function questionsText(
  open: readonly OpenQuestion[],
  { show_content: shows }: Pick<PushConfig, "show_content">,
): string {
  const [first] = open;
  if (shows && first && open.length === 1)
    return excerpt(first.question.title ?? first.content) || "A question is waiting";
  return count(open.length, "A question is waiting", "questions are waiting");
}

export const answersText = (n: number): string =>
  count(n, "An answer is ready", "answers are ready");

/** How a question ended, and by whom: only the outcome may be shown without the content. */
export interface Ended {
  readonly outcome: string;
  readonly effect?: "allow" | "deny" | undefined;
  readonly by?: string | undefined;
}

const outcomes: Readonly<Record<string, string>> = {
  answered: "Answered",
  dismissed: "Answered",
  expired: "No longer open: the time for an answer has passed",
};

export function endedText(
  { outcome, effect, by }: Ended,
  { show_content: shows }: Pick<PushConfig, "show_content">,
): string {
  const text = outcomes[outcome] ?? "No longer open";
  if (!shows || outcome !== "answered") return text;
  const verb = effect === undefined ? text : effect === "allow" ? "Allowed" : "Denied";
  return by === undefined ? verb : `${verb} by ${excerpt(by)}`;
}

/**
 * @returns The buttons of a question: only approvals have some, and never lasting ones. Each label
 *   is short, because systems cut it.
 */
export function actionsOf(
  { question: { kind, options = [] } }: OpenQuestion,
  { actions }: Pick<PushConfig, "actions">,
): readonly Action[] {
  if (kind !== "approval" || actions === "open") return [];
  const of = (effect: "allow" | "deny"): readonly Action[] => {
    const found = options.find((option) => option.effect === effect && option.lasting !== true);
    return found ? [{ action: found.id, title: excerpt(found.label).slice(0, 30) }] : [];
  };
  const deny = of("deny");
  // Chromium shows two buttons; a tap on the text opens the question.
  if (actions === "both") return [...of("allow"), ...deny];
  return deny.length === 0 ? [] : [...deny, { action: "open", title: "Open" }];
}
