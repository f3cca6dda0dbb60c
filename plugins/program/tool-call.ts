// Reads the tool calls that a program announces.
import * as z from "zod";
import { defined } from "../../lib/util.ts";
import type { ToolCall } from "../channels/index.ts";

export const toolCall = z.object({
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

export const toToolCall = (call: z.output<typeof toolCall>): ToolCall => ({
  id: call.id,
  name: call.function.name,
  arguments: call.function.arguments,
  ...defined({ result: toText(call.result), error: toText(call.error), for: call.for }),
});
