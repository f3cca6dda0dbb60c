/** Reads tool calls of frames, of the history and of questions. @module */
import type { StepDetail, StepState } from "../../../../lib/step-details.ts";

/** The words of the application about a call, besides arguments and result. */
export interface StepDescription {
  readonly title?: string;
  readonly details?: readonly StepDetail[];
  /** Files that the step is about. */
  readonly locations?: readonly { readonly path: string; readonly line?: number }[];
}

/** A tool call, as far as the page shows it. */
export interface ToolCall {
  /** The title, or the name of the function. */
  readonly name: string;
  /** JSON, indented; undefined without arguments. */
  readonly input?: string;
  /** JSON, or text. */
  readonly output?: string;
  readonly isFailed: boolean;
  /** The shell command among the arguments. */
  readonly command?: string;
  /** Undefined unless the application describes the step. */
  readonly described?: StepDescription;
}

/** Frames have `function`; the history has its fields directly. The server has checked both. */
interface GivenCall extends StepDescription {
  readonly function?: { readonly name: string; readonly arguments: string };
  readonly name?: string;
  readonly arguments?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly state?: StepState;
}

/** Arguments may be JSON in a string. */
function formatValue(value: unknown): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  try {
    const parsed: unknown = typeof value === "string" ? JSON.parse(value) : value;
    return JSON.stringify(parsed, undefined, 2);
  } catch {
    return String(value);
  }
}

/** Arguments that hold a shell command, as coding agents name them. */
const commandNames = ["command", "cmd", "script"] as const;

/** @returns The command, as it is written; a list with its items in JSON. */
function commandIn(given: unknown): string | undefined {
  let values = given;
  try {
    values = typeof given === "string" ? JSON.parse(given) : given;
  } catch {
    return undefined;
  }
  if (typeof values !== "object" || values === null) return undefined;
  const found = commandNames
    .map((name) => (values as Readonly<Record<string, unknown>>)[name])
    .find((value) => typeof value === "string" || Array.isArray(value));
  if (found === undefined || typeof found === "string") return found || undefined;
  return (found as readonly unknown[]).map((item) => JSON.stringify(item)).join(" ");
}

/** @param call - Undefined for a step without a call. */
export function readToolCall(call: unknown): ToolCall {
  const {
    function: inner,
    name,
    arguments: direct,
    result,
    error,
    state,
    ...rest
  } = (call ?? {}) as GivenCall;
  const { title, details, locations } = rest;
  const input = formatValue(inner?.arguments ?? direct);
  const command = commandIn(inner?.arguments ?? direct);
  const said = formatValue(error ?? result);
  return {
    name: title || (inner?.name ?? name) || "Tool",
    isFailed: (error !== undefined && error !== null) || state === "failed",
    ...((title ?? details ?? locations) !== undefined && { described: rest }),
    ...(input !== undefined && { input }),
    ...(command !== undefined && { command }),
    ...(said !== undefined && { output: said }),
  };
}
