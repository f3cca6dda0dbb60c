/** Reads tool calls, whose form the protocol leaves to the application. @module */

/** A tool call, as far as it can be read. */
export interface ToolCall {
  readonly name: string;
  /** JSON, indented; undefined without arguments. */
  readonly input?: string;
  /** JSON, or text. */
  readonly output?: string;
  readonly isFailed: boolean;
  /** The call as it came, if the application describes the step. */
  readonly described?: unknown;
  /** True if `input` is longer than shown. */
  readonly isCut?: true;
}

type Fields = Readonly<Record<string, unknown>>;

export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const maxText = 20_000;

/** Arguments may be JSON in a string. */
function formatValue(value: unknown): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  try {
    const parsed: unknown = typeof value === "string" ? JSON.parse(value) : value;
    return JSON.stringify(parsed, undefined, 2).slice(0, maxText);
  } catch {
    return textOf(value).slice(0, maxText);
  }
}

/** Reads a call of the protocol, and the forms that other servers send. */
export function readToolCall(call: unknown): ToolCall {
  const {
    name,
    function: inner,
    tool,
    arguments: direct,
    result,
    output,
    error,
    status,
    state,
    title,
    details,
    locations,
  } = fieldsOf(call);
  const { name: innerName, arguments: innerInput } = fieldsOf(inner);
  const input = formatValue(innerInput ?? direct);
  const said = formatValue(error ?? result ?? output);
  return {
    name: textOf(name) || textOf(innerName) || textOf(tool) || textOf(inner) || "Tool",
    isFailed: (error !== undefined && error !== null) || status === "failed" || state === "failed",
    ...((title ?? details ?? locations) !== undefined && { described: call }),
    ...(input !== undefined && { input }),
    ...(input?.length === maxText && { isCut: true }),
    ...(said !== undefined && { output: said }),
  };
}
