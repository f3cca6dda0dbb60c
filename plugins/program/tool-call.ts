// Reads the tool calls that a program announces.
import * as z from "zod";
import { defined } from "../../lib/util.ts";
import type { ToolCall } from "../channels/index.ts";

export const toolCall = z.object({
  id: z.string(),
  function: z.object({ name: z.string(), arguments: z.string() }),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
});

/** Absent values stay absent. Everything but text becomes JSON. */
const toText = (value: unknown): string | undefined =>
  value === undefined || value === null || typeof value === "string"
    ? (value ?? undefined)
    : JSON.stringify(value);

export const toToolCall = (call: z.output<typeof toolCall>): ToolCall => ({
  id: call.id,
  name: call.function.name,
  arguments: call.function.arguments,
  ...defined({ result: toText(call.result), error: toText(call.error) }),
});
