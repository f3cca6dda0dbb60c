// Reads values of a server that the decoder does not validate.
import type { PlanEntry, StepDetail } from "../step-details.ts";
import type { ChatUsage, ChatToolCall } from "./types.ts";

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};

const usageKeys = ["input", "output", "reasoning", "cached"] as const;

/** @returns Undefined without a count. */
export function toUsage(given: unknown): ChatUsage | undefined {
  const fields = fieldsOf(given);
  const counts = usageKeys.flatMap((name) => {
    const count = fields[`${name}_tokens`];
    return typeof count === "number" ? [[name, count] as const] : [];
  });
  return counts.length > 0 ? Object.fromEntries(counts) : undefined;
}

const isText = (value: unknown): value is string => typeof value === "string";

const isNumber = (value: unknown): value is number => typeof value === "number";
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function toDetail(given: unknown): readonly StepDetail[] {
  const { type, path, old, new: after, text, exit, cut: isCut } = fieldsOf(given);
  const cut = isCut === true && ({ cut: true } as const);
  if (type === "diff" && isText(path) && isText(after))
    return [{ type, path, ...(isText(old) && { old }), new: after, ...cut }];
  if (type === "text" && isText(text)) return [{ type, text, ...cut }];
  if (type === "terminal" && isText(text))
    return [{ type, text, ...(isNumber(exit) && { exit }), ...cut }];
  return [];
}

function toLocation(given: unknown): NonNullable<ChatToolCall["locations"]> {
  const { path, line } = fieldsOf(given);
  return isText(path) ? [{ path, ...(isNumber(line) && { line }) }] : [];
}

/** @returns The call, or nothing if it has no name. */
export function toToolCalls(given: unknown): readonly ChatToolCall[] {
  const { id, function: called, result, error, title, kind, state, ...rest } = fieldsOf(given);
  const { name, arguments: text } = fieldsOf(called);
  if (!isText(name)) return [];
  const details = listOf(rest["details"]).flatMap(toDetail);
  const locations = listOf(rest["locations"]).flatMap(toLocation);
  return [
    {
      id: isText(id) ? id : "",
      name,
      arguments: isText(text) ? text : "",
      ...(isText(result) && { result }),
      ...(isText(error) && { error }),
      ...(isText(title) && { title }),
      ...(isText(kind) && { kind }),
      ...(isText(state) && { state }),
      ...(details.length > 0 && { details }),
      ...(locations.length > 0 && { locations }),
    },
  ];
}

const states: readonly unknown[] = ["pending", "running", "completed", "failed"];
const priorities: readonly unknown[] = ["high", "medium", "low"];

/** @returns The step of a plan, or nothing if it has no text. */
export function toEntries(given: unknown): readonly PlanEntry[] {
  const { content, priority, state } = fieldsOf(given);
  if (!isText(content)) return [];
  return [
    {
      content,
      ...(priorities.includes(priority) && { priority: priority as "high" }),
      state: states.includes(state) ? (state as "pending") : "pending",
    },
  ];
}
