// Bounds the data of a protocol that the application receives with a message.

const maxBytes = 64 * 1024;
/** Levels of one field. Two more levels lead to it. */
const maxDepth = 6;

export function depthOf(value: unknown, limit = maxDepth): number {
  if (typeof value !== "object" || value === null || limit < 0) return 0;
  return 1 + Math.max(0, ...Object.values(value).map((inner) => depthOf(inner, limit - 1)));
}

const withoutPrototype = (key: string, value: unknown): unknown =>
  key === "__proto__" ? undefined : value;

/** Copies JSON without keys that would set the prototype of a copy. */
export const withoutPrototypes = <T extends object>(value: T): T =>
  JSON.parse(JSON.stringify(value), withoutPrototype) as T;

/** Copies the fields that fit into 64 KiB as JSON and eight levels, the smaller ones first. */
export function boundFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const texts = Object.entries(fields)
    .filter(([key, value]) => key !== "__proto__" && depthOf(value) <= maxDepth)
    .map(([key, value]) => ({ key, text: JSON.stringify(value) }))
    .toSorted((a, b) => a.text.length - b.text.length);
  const bounded: Record<string, unknown> = {};
  let bytes = 0;
  for (const { key, text } of texts) {
    bytes += Buffer.byteLength(text) + Buffer.byteLength(key) + 4;
    if (bytes > maxBytes || text.length > maxBytes / 2) break;
    bounded[key] = JSON.parse(text, withoutPrototype);
  }
  return bounded;
}
