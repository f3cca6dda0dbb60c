// Reads the tool calls of a stored turn, for people.
import type { Turn } from "./contract.ts";

/** A tool call of a turn, as text. */
export interface TurnCall {
  /** Name of the function. */
  readonly name: string;
  /** Arguments as the model wrote them, usually JSON. May be empty. */
  readonly arguments: string;
  /** The value that the tool returned. Absent without a result. */
  readonly result?: string;
  /** Why the call failed. Takes the place of `result`. */
  readonly error?: string;
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};
/** Everything but text becomes JSON. */
const toText = (value: unknown): string | undefined =>
  value === undefined || value === null || typeof value === "string"
    ? (value ?? undefined)
    : JSON.stringify(value);

/**
 * Reads the tool calls of a turn, or the results that a client sent.
 *
 * @returns One item per call or result; empty if the turn has none.
 * @example
 * import { readCalls } from "doorward/plugins/conversations";
 * readCalls({ toolCalls: [{ id: "1", function: { name: "clock", arguments: "{}" } }] });
 */
export function readCalls({
  toolCalls = [],
  toolResults = [],
}: Pick<Turn, "toolCalls" | "toolResults">): readonly TurnCall[] {
  const results = toolResults.map(({ id, name = id, content, isError }) => ({
    name,
    arguments: "",
    ...(isError ? { error: content } : { result: content }),
  }));
  const calls = toolCalls.map((call) => {
    const { function: inner, result, error } = fieldsOf(call);
    const { name, arguments: text } = fieldsOf(inner);
    const failure = toText(error);
    const output = failure === undefined ? toText(result) : undefined;
    return {
      name: toText(name) || "Tool",
      arguments: toText(text) ?? "",
      ...(output !== undefined && { result: output }),
      ...(failure !== undefined && { error: failure }),
    };
  });
  return [...calls, ...results];
}
