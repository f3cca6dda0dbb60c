// The form of tool calls and plans: the same for lines of a program and replies of a host.
import * as z from "zod";
import { defined, isObject } from "../../lib/util.ts";
import type { StepDetail, ToolCall } from "./contract.ts";

/** The names of the Agent Client Protocol and other common ones -> the state. */
const stateNames: ReadonlyMap<unknown, string> = new Map([
  ["todo", "pending"],
  ["queued", "pending"],
  ["not_started", "pending"],
  ["in_progress", "running"],
  ["in-progress", "running"],
  ["active", "running"],
  ["done", "completed"],
  ["complete", "completed"],
  ["success", "completed"],
  ["error", "failed"],
]);
const states = z.enum(["pending", "running", "completed", "failed"]);
const stepState = z.preprocess((name) => stateNames.get(name) ?? name, states);
const path = z.string().min(1).max(4_096);
const detail = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("diff"),
    path,
    old: z.string().nullish(),
    new: z.string(),
  }),
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("terminal"), text: z.string(), exit: z.int().nullish() }),
]);

/** One entry of a plan. The Agent Client Protocol names the state `status`. */
export const planEntry = z.preprocess(
  (entry) =>
    isObject(entry) && entry["state"] === undefined && entry["status"] !== undefined
      ? { ...entry, state: entry["status"] }
      : entry,
  z.object({
    content: z.string().min(1).max(1_000),
    priority: z.enum(["high", "medium", "low"]).optional(),
    state: stepState,
  }),
);

/** @returns The value as JSON text; undefined if it has no such form. */
function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined; // a BigInt, a cycle, or a getter that throws
  }
}

/** Text stays as it is, and everything else becomes its JSON. Null counts as absent. */
const jsonText = z.unknown().transform((value, context): string | undefined => {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  const text = toJson(value);
  if (text === undefined)
    context.addIssue({ code: "custom", message: "expected a text, or a value that JSON has" });
  return text;
});

/** The arguments of a call. Some libraries return them as an object. */
export const callArguments = jsonText.pipe(z.string("expected a text or an object"));

/** The fields of a call that lines and replies share. */
export const callFields = {
  id: z.string(),
  result: jsonText.optional(),
  error: jsonText.optional(),
  for: z.literal("client").optional().catch(undefined),
  title: z.string().max(256).optional(),
  kind: z
    .enum(["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"])
    .optional(),
  state: stepState.optional(),
  details: z.array(detail).max(64).optional(),
  locations: z
    .array(z.object({ path, line: z.int().min(1).optional() }))
    .max(64)
    .optional(),
};

/** A call as a host names it. */
export const hostCall = z.object({ ...callFields, name: z.string(), arguments: callArguments });

type ParsedCall = z.output<typeof hostCall>;

function toDetail(given: z.output<typeof detail>): StepDetail {
  if (given.type === "diff") {
    const { old, ...rest } = given;
    return { ...rest, ...(typeof old === "string" && { old }) };
  }
  if (given.type === "text") return given;
  const { exit, ...rest } = given;
  return { ...rest, ...(typeof exit === "number" && { exit }) };
}

/** Leaves out what is absent. */
export const toToolCall = (call: ParsedCall): ToolCall => ({
  id: call.id,
  name: call.name,
  arguments: call.arguments,
  ...defined({ result: call.result, error: call.error, for: call.for }),
  ...defined({ title: call.title, kind: call.kind, state: call.state }),
  ...(call.details && { details: call.details.map(toDetail) }),
  ...(call.locations && { locations: call.locations.map((place) => defined(place)) }),
});

/** Adds calls and replaces those with the same id: an update may repeat only what changed. */
export function mergeCalls(
  before: readonly ToolCall[],
  calls: readonly ToolCall[],
): readonly ToolCall[] {
  const latest = new Map(calls.map((call) => [call.id, call]));
  if (before.every(({ id }) => latest.has(id))) return calls;
  const known = new Set(before.map(({ id }) => id));
  const added = calls.filter(({ id }) => !known.has(id));
  return [...before.map((call) => latest.get(call.id) ?? call), ...added];
}
