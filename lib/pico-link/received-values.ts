// Reads values of a server that the decoder does not validate.
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

/** @returns The call, or nothing if it has no name. */
export function toToolCalls(given: unknown): readonly ChatToolCall[] {
  const { id, function: called, result, error } = fieldsOf(given);
  const { name, arguments: text } = fieldsOf(called);
  if (!isText(name)) return [];
  return [
    {
      id: isText(id) ? id : "",
      name,
      arguments: isText(text) ? text : "",
      ...(isText(result) && { result }),
      ...(isText(error) && { error }),
    },
  ];
}
