// Reads the tool calls that a program announces.
import * as z from "zod";
import type { ToolCall } from "../channels/index.ts";
import { callArguments, callFields, toToolCall as toCall } from "../channels/step-schema.ts";

export { mergeCalls, planEntry } from "../channels/step-schema.ts";

export const toolCall = z.object({
  ...callFields,
  function: z.object({ name: z.string(), arguments: callArguments }),
});

export const toToolCall = ({ function: called, ...call }: z.output<typeof toolCall>): ToolCall =>
  toCall({ ...call, ...called });
