// Bounds the data of a protocol that the application receives with a message.
import { isObject } from "../../lib/util.ts";

const maxBytes = 64 * 1024;
/** Levels of one field. Two more levels lead to it. */
const maxDepth = 6;

export function depthOf(value: unknown, limit = maxDepth): number {
  if (typeof value !== "object" || value === null || limit < 0) return 0;
  return 1 + Math.max(0, ...Object.values(value).map((inner) => depthOf(inner, limit - 1)));
}

const toName = (tool: unknown): unknown => {
  if (!isObject(tool)) return undefined;
  return isObject(tool["function"]) ? tool["function"]["name"] : (tool["name"] ?? tool["type"]);
};

/** Reduces a list of tools to their names, which are short. */
function toNames(value: unknown): unknown {
  if (!Array.isArray(value)) return undefined;
  return value.map(toName).filter((name) => typeof name === "string" && name.length <= 256);
}

const withoutPrototype = (key: string, value: unknown): unknown =>
  key === "__proto__" ? undefined : value;

/** Copies JSON without keys that would set the prototype of a copy. */
export const withoutPrototypes = <T extends object>(value: T): T =>
  JSON.parse(JSON.stringify(value), withoutPrototype) as T;

/**
 * Copies the fields that fit into 64 KiB as JSON and eight levels, the smaller ones first. Lists
 * under the key `tools` or `functions` that do not fit are reduced to the names.
 */
export function boundFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const shortened = Object.entries(fields).map(([key, value]) => {
    const text = JSON.stringify(value) ?? "null";
    const isLarge = text.length > maxBytes / 2 || depthOf(value) > maxDepth;
    if (!isLarge) return { key, text };
    const isList = key === "tools" || key === "functions";
    return { key, text: JSON.stringify(isList ? toNames(value) : undefined) };
  });
  const bounded: Record<string, unknown> = {};
  let bytes = 0;
  for (const { key, text } of shortened.toSorted(
    (a, b) => (a.text?.length ?? 0) - (b.text?.length ?? 0),
  )) {
    if (text === undefined || key === "__proto__") continue;
    bytes += Buffer.byteLength(text) + Buffer.byteLength(key) + 4;
    if (bytes > maxBytes) break;
    bounded[key] = JSON.parse(text, withoutPrototype);
  }
  return bounded;
}
