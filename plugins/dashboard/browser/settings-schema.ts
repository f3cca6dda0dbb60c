import { formatBytes } from "../ui/text/format.ts";

/** A part of JSON Schema draft-07: what the settings use. Pure. */
export interface FieldSchema {
  readonly type?: "boolean" | "integer" | "number" | "string" | "array" | "object";
  /** What a page calls it; without it the key's words. */
  readonly title?: string;
  /** A sentence. */
  readonly description?: string;
  /** Of a number. */
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

export interface Typed {
  readonly value?: unknown;
  /** Why it cannot be saved. */
  readonly problem?: string;
}

/** What was typed into the field of a setting, as its value. */
export function readTyped(schema: FieldSchema, text: string): Typed {
  if (schema.type === "integer" || schema.type === "number") return readNumber(schema, text.trim());
  if (schema.type !== "array") return judge(schema, text.trim());
  const items = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const broken = items
    .map((item) => judge(schema.items ?? {}, item))
    .find(({ problem }) => problem !== undefined);
  if (broken) return { problem: broken.problem! };
  if (items.length > (schema.maxItems ?? Infinity))
    return { problem: `At most ${schema.maxItems} lines.` };
  return { value: items };
}

/** A value as the text of its field. */
export function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join("\n");
  return value === undefined || value === null ? "" : String(value);
}

/** A value as one reads it: `on`, `none`, `30`. */
export function valueWords(value: unknown): string {
  if (value === undefined || value === null || value === "") return "not set";
  if (typeof value === "boolean") return value ? "on" : "off";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(valueWords).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value as string | number);
}

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** What it means, and its default with its unit. */
export function hintOf({ description = "", default: standard, unit, type }: FieldSchema): string {
  if (standard === undefined || standard === "" || type === "array") return description;
  const size = unit === "bytes" && typeof standard === "number";
  const words = size
    ? formatBytes(standard)
    : [valueWords(standard), unit].filter((part) => part !== undefined).join(" ");
  return `${description} Default: ${words}.`.trim();
}

/** What a page calls a setting: its title, else its key in words. */
export function nameOf(key: string, { title }: FieldSchema = {}): string {
  if (title !== undefined) return title;
  const words = key.replaceAll("_", " ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function readNumber(schema: FieldSchema, text: string): Typed {
  const value = Number(text);
  if (text === "" || !Number.isFinite(value)) return { problem: "Type a number." };
  if (schema.type === "integer" && !Number.isInteger(value))
    return { problem: "Type a whole number." };
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity } = schema;
  if (value < minimum) return { problem: `At least ${minimum}.` };
  if (value <= exclusiveMinimum) return { problem: `More than ${exclusiveMinimum}.` };
  return value > maximum ? { problem: `At most ${maximum}.` } : { value };
}

function judge(
  { minLength = 0, maxLength = Infinity, pattern, format }: FieldSchema,
  text: string,
): Typed {
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  if (text.length < minLength) return { problem: "It may not be empty." };
  if (text.length > maxLength) return { problem: `At most ${maxLength} characters.` };
  if (pattern !== undefined && !new RegExp(pattern, "iu").test(text)) {
    return { problem: `“${shown}” has another form than expected.` };
  }
  if (format === "uri" && text !== "" && !URL.canParse(text))
    return { problem: `“${shown}” is not an address.` };
  return { value: text };
}
