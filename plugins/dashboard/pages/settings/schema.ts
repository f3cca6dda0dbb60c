// Reads setting schemas: parses input, formats values and builds help texts.
import { fromUnitValue, quantityLabel, type Unit } from "./units.ts";

/** The part of JSON Schema draft-07 that the settings use. */
export interface FieldSchema {
  readonly type?: "boolean" | "integer" | "number" | "string" | "array" | "object";
  /** Label. Without it, the label is derived from the key. */
  readonly title?: string;
  /** Help text. */
  readonly description?: string;
  /** Unit of a number. */
  readonly unit?: string;
  /** Id of the section of the page that shows the setting. */
  readonly section?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly items?: FieldSchema;
  /** The possible values of a text. */
  readonly enum?: readonly string[];
}

/** Content of a field: a value, or the reason why it cannot be saved. */
export interface ParsedInput {
  readonly value?: unknown;
  readonly problem?: string;
}

export const isNumeric = ({ type }: FieldSchema): boolean =>
  type === "integer" || type === "number";

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Parses and validates a typed number. Without `unit`, the text has the unit of the file. */
export function parseNumber(schema: FieldSchema, text: string, unit?: Unit): ParsedInput {
  const typed = Number(text.trim());
  if (text.trim() === "" || !Number.isFinite(typed)) return { problem: "Enter a number." };
  const value = unit ? fromUnitValue(typed, unit) : typed;
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity } = schema;
  if (value < minimum || value > maximum || value <= exclusiveMinimum)
    return { problem: rangeProblem(schema) };
  if (schema.type === "integer" && !Number.isInteger(value)) {
    return { problem: unit ? `Enter a whole number of ${schema.unit}.` : "Enter a whole number." };
  }
  return { value };
}

function rangeProblem({ minimum, maximum, exclusiveMinimum, unit }: FieldSchema): string {
  const label = (value: number): string => quantityLabel(value, unit);
  if (minimum === undefined && exclusiveMinimum !== undefined)
    return `Enter more than ${label(exclusiveMinimum)}.`;
  if (minimum === undefined) return `Enter ${label(maximum!)} or less.`;
  if (maximum === undefined) return `Enter ${label(minimum)} or more.`;
  const [low, high] = [label(minimum), label(maximum)];
  const suffix = /^[\d.,]+( .*)$/.exec(high)?.[1] ?? "";
  const isShared = suffix !== "" && low.endsWith(suffix);
  return `Enter a number from ${isShared ? low.slice(0, -suffix.length) : low} to ${high}.`;
}

/** Validates a text or one item of a list. */
export function parseText(
  { minLength = 0, maxLength = Infinity, pattern, format }: FieldSchema,
  typed: string,
): ParsedInput {
  const text = typed.trim();
  const excerpt = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  if (text.length < minLength) return { problem: "Enter a value." };
  if (text.length > maxLength) return { problem: `Enter at most ${maxLength} characters.` };
  if (pattern !== undefined && !new RegExp(pattern, "iu").test(text)) {
    return { problem: `“${excerpt}” does not have the expected format.` };
  }
  if (format === "uri" && text !== "" && !URL.canParse(text))
    return { problem: `“${excerpt}” is not a valid URL.` };
  return { value: text };
}

/** Validates a list. */
export function parseList(schema: FieldSchema, items: readonly string[]): ParsedInput {
  const parsed = items.map((item) => parseText({ minLength: 1, ...schema.items }, item));
  const invalid = parsed.find(({ problem }) => problem !== undefined);
  if (invalid) return invalid;
  const { maxItems = Infinity } = schema;
  if (items.length > maxItems) return { problem: `Enter at most ${maxItems} values.` };
  return { value: parsed.map(({ value }) => value) };
}

/** Formats a value for display: `on`, `none`, `30 s`. */
export function valueLabel(value: unknown, unit?: string): string {
  if (value === undefined || value === null || value === "") return "not set";
  if (typeof value === "boolean") return value ? "on" : "off";
  if (typeof value === "number") return quantityLabel(value, unit);
  if (Array.isArray(value))
    return value.length === 0 ? "none" : value.map((item) => valueLabel(item)).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : (value as string);
}

/** Returns the label of a setting: its title, or its key in sentence case. */
export function settingName(key: string, { title }: FieldSchema): string {
  if (title !== undefined) return title;
  const text = key.replaceAll("_", " ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
