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
  readonly name: string;
  /** JSON, indented; undefined without arguments. */
  readonly input?: string;
  /** JSON, or text. */
  readonly output?: string;
  readonly isFailed: boolean;
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
  const said = formatValue(error ?? result);
  return {
    name: (inner?.name ?? name) || "Tool",
    isFailed: (error !== undefined && error !== null) || state === "failed",
    ...((title ?? details ?? locations) !== undefined && { described: rest }),
    ...(input !== undefined && { input }),
    ...(said !== undefined && { output: said }),
  };
}
