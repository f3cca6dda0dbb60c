/** Decisions as pages show them. @module */
import type { Decision, DecisionList } from "../../decisions/index.ts";

export type DecisionsView = DecisionList;
export type DecisionView = Decision;

const outcomes: Readonly<Record<string, string>> = {
  answered: "Answered",
  dismissed: "Dismissed",
  expired: "Expired",
  stopped: "Stopped",
  withdrawn: "Withdrawn by the application",
  lost: "Lost",
};
const effects = { allow: "Allowed", deny: "Denied" } as const;

/** Says what was decided: `Allowed: Allow once`. */
export function decisionText({ outcome, effect, chosen, text }: Decision): string {
  const what = effect ? effects[effect] : (outcomes[outcome] ?? outcome);
  const details = [chosen?.join(", "), text && `“${text}”`].filter(Boolean).join(" · ");
  return details === "" ? what : `${what}: ${details}`;
}

/** Says what the answer that asked did afterwards; empty while it has not ended. */
export function followedText({ followed, effect }: Decision): string {
  if (!followed) return "";
  const { outcome, code } = followed;
  if (outcome === "completed") return "the answer went on to its end";
  if (outcome === "stopped") return "then the answer was stopped";
  return effect === "allow" && code === "application_ended"
    ? "the program ended before it could act"
    : `then the answer failed${code === undefined ? "" : ` (${code})`}`;
}
