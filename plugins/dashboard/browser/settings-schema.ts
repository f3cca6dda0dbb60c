// Reads setting schemas: parses input, formats values and builds help texts.
import { formatBytes } from "../ui/text/format.ts";

/** The part of JSON Schema draft-07 that the settings use. */
export interface FieldSchema {
  readonly type?: "boolean" | "integer" | "number" | "string" | "array" | "object";
  /** Label. Without it, the label is derived from the key. */
  readonly title?: string;
  /** Help text. */
  readonly description?: string;
  /** Unit of a number. */
  readonly unit?: string;
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
  readonly enum?: readonly unknown[];
  readonly editable?: boolean;
}

export interface ParsedInput {
  readonly value?: unknown;
  /** Reason why the value cannot be saved. */
  readonly problem?: string;
}

/** Parses and validates the text of a setting field. */
export function parseInput(schema: FieldSchema, text: string): ParsedInput {
  if (schema.type === "integer" || schema.type === "number")
    return parseNumber(schema, text.trim());
  if (schema.type !== "array") return parseText(schema, text.trim());
  const items = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const invalid = items
    .map((item) => parseText(schema.items ?? {}, item))
    .find(({ problem }) => problem !== undefined);
  if (invalid) return { problem: invalid.problem! };
  if (items.length > (schema.maxItems ?? Infinity))
    return { problem: `Enter at most ${schema.maxItems} lines.` };
  return { value: items };
}

/** Formats a value as the text of its field. */
export function toInputText(value: unknown): string {
  if (Array.isArray(value)) return value.join("\n");
  return value === undefined || value === null ? "" : String(value);
}

/** Formats a value for display: `on`, `none`, `30`. */
export function valueLabel(value: unknown): string {
  if (value === undefined || value === null || value === "") return "not set";
  if (typeof value === "boolean") return value ? "on" : "off";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(valueLabel).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value as string | number);
}

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Returns the help text of a setting, followed by its default with unit. */
export function hintText({ description = "", default: preset, unit, type }: FieldSchema): string {
  if (preset === undefined || preset === "" || type === "array") return description;
  const isSize = unit === "bytes" && typeof preset === "number";
  const label = isSize
    ? formatBytes(preset)
    : [valueLabel(preset), unit].filter((part) => part !== undefined).join(" ");
  return `${description} Default: ${label}.`.trim();
}

/** Returns the label of a setting: its title, or its key in sentence case. */
export function settingName(key: string, { title }: FieldSchema = {}): string {
  if (title !== undefined) return title;
  const text = key.replaceAll("_", " ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function parseNumber(schema: FieldSchema, text: string): ParsedInput {
  const value = Number(text);
  if (text === "" || !Number.isFinite(value)) return { problem: "Enter a number." };
  if (schema.type === "integer" && !Number.isInteger(value))
    return { problem: "Enter a whole number." };
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity } = schema;
  if (value < minimum) return { problem: `Enter ${minimum} or more.` };
  if (value <= exclusiveMinimum) return { problem: `Enter more than ${exclusiveMinimum}.` };
  return value > maximum ? { problem: `Enter ${maximum} or less.` } : { value };
}

function parseText(
  { minLength = 0, maxLength = Infinity, pattern, format }: FieldSchema,
  text: string,
): ParsedInput {
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
