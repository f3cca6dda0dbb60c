/** Reads the details of a step. Servers of other versions may send other forms. @module */
import type { PlanEntry, StepDetail, StepState } from "../../../../../lib/step-details.ts";

/** The facts of a step, besides arguments and result. */
interface StepFacts {
  readonly title?: string;
  readonly state?: StepState;
  readonly details: readonly StepDetail[];
  /** `path:line` of each file. */
  readonly places: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const states = ["pending", "running", "completed", "failed"] as const;
const stateOf = (value: unknown): StepState | undefined => states.find((state) => state === value);

function toDetail(value: unknown): readonly StepDetail[] {
  const { type, path, old, new: changed, text, exit, cut } = fieldsOf(value);
  const mark = cut === true && { cut: true as const };
  if (type === "diff") {
    const before = typeof old === "string" && { old };
    return [{ type, path: textOf(path), ...before, new: textOf(changed), ...mark }];
  }
  if (type === "text") return [{ type, text: textOf(text), ...mark }];
  if (type !== "terminal") return [];
  return [{ type, text: textOf(text), ...(typeof exit === "number" && { exit }), ...mark }];
}

function toPlace(value: unknown): string {
  const { path, line } = fieldsOf(value);
  return textOf(path) + (typeof line === "number" ? `:${line}` : "");
}

export function readStep(call: unknown): StepFacts {
  const { title, state: given, details, locations } = fieldsOf(call);
  const state = stateOf(given);
  return {
    ...(textOf(title) !== "" && { title: textOf(title) }),
    ...(state && { state }),
    details: listOf(details).flatMap(toDetail),
    places: listOf(locations).map(toPlace).filter(Boolean),
  };
}

export const readPlan = (entries: readonly unknown[]): readonly PlanEntry[] =>
  entries.map((entry) => {
    const { content, state } = fieldsOf(entry);
    return { content: textOf(content), state: stateOf(state) ?? "pending" };
  });
