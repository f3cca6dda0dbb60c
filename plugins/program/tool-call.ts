// Reads the tool calls that a program announces.
import * as z from "zod";
import { defined } from "../../lib/util.ts";
import type { StepDetail, ToolCall } from "../channels/index.ts";

const stepState = z.enum(["pending", "running", "completed", "failed"]);
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

/** One entry of a plan. */
export const planEntry = z.object({
  content: z.string().min(1).max(1_000),
  priority: z.enum(["high", "medium", "low"]).optional(),
  state: stepState,
});

const stepFields = {
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

export const toolCall = z.object({
  ...stepFields,
  id: z.string(),
  function: z.object({ name: z.string(), arguments: z.string() }),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
  for: z.literal("client").optional().catch(undefined),
});

/** Absent values stay absent. Everything but text becomes JSON. */
const toText = (value: unknown): string | undefined =>
  value === undefined || value === null || typeof value === "string"
    ? (value ?? undefined)
    : JSON.stringify(value);

/** Adds calls and replaces those with the same id: a line may repeat only the call that changed. */
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

function toDetail(given: z.output<typeof detail>): StepDetail {
  if (given.type === "diff") {
    const { old, ...rest } = given;
    return { ...rest, ...(typeof old === "string" && { old }) };
  }
  if (given.type === "text") return given;
  const { exit, ...rest } = given;
  return { ...rest, ...(typeof exit === "number" && { exit }) };
}

export const toToolCall = (call: z.output<typeof toolCall>): ToolCall => ({
  id: call.id,
  name: call.function.name,
  arguments: call.function.arguments,
  ...defined({ result: toText(call.result), error: toText(call.error), for: call.for }),
  ...defined({ title: call.title, kind: call.kind, state: call.state }),
  ...(call.details && { details: call.details.map(toDetail) }),
  ...(call.locations && { locations: call.locations.map((place) => defined(place)) }),
});
