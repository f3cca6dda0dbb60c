import type { Node } from "jsonc-parser";
import { fileErrors } from "./errors.ts";
import { loadJsonc, parseJson } from "./json.ts";
import { lineEndingOf, replaceRange, splitByteOrderMark } from "./text.ts";
import { isEqual, setAtPath, type JsonObject } from "./value.ts";

/** A path of object keys, and the new value or the wish to remove it. Missing and `null` parents become objects. */
export type JsonEdit =
  | { readonly path: readonly string[]; readonly value: unknown }
  | { readonly path: readonly string[]; readonly remove: true };

/** The text with these edits and every other byte as it was; `undefined` makes a new file. Checked by reading it again.
 *  `file` only names it in errors. Throws `FILE_CORRUPT`, and `FILE_EDIT_REFUSED` when a parent is not an object. */
export function editJson(
  text: string | undefined,
  edits: readonly JsonEdit[],
  file = "The file",
): string {
  const { mark, body } = splitByteOrderMark(text ?? "{}\n");
  let next = body;
  for (const edit of edits) next = applyEdit(next, edit, file);
  return mark + next;
}

function applyEdit(body: string, edit: JsonEdit, file: string): string {
  const value = "value" in edit ? (JSON.parse(JSON.stringify(edit.value)) as unknown) : undefined;
  const wanted = setAtPath(parseJson(body, file), edit.path, value);
  const refused = (reason: string) =>
    fileErrors.FILE_EDIT_REFUSED(file, reason, { details: { path: edit.path } });
  const name = edit.path.join(".");
  if (!wanted) throw refused(`something above "${name}" is not an object. Make it {} by hand.`);
  const next =
    value === undefined ? withoutEntry(body, edit.path) : withValueAt(body, edit.path, value);
  if (!isEqual(verifyEdit(next, file), wanted))
    throw refused(`"${name}" cannot be set safely. Set it by hand.`);
  return next;
}

function verifyEdit(text: string, file: string): JsonObject | undefined {
  try {
    return parseJson(text, file);
  } catch {
    return undefined;
  }
}

const nodeAt = (body: string, path: readonly string[]): Node | undefined => {
  const root = loadJsonc().parseTree(body);
  return root && loadJsonc().findNodeAtLocation(root, [...path]);
};

function withValueAt(body: string, path: readonly string[], value: unknown): string {
  let depth = path.length;
  let node = nodeAt(body, path);
  while (!node) node = nodeAt(body, path.slice(0, --depth));
  const rest = path.slice(depth);
  if (rest.length === 0 || node.type !== "object") {
    const rendered = renderJson(body, nestUnder(rest, value), indentationAt(body, node.offset));
    return replaceRange(body, node.offset, node.offset + node.length, rendered);
  }
  const [key = "", ...below] = rest;
  return insertEntry(body, node, key, nestUnder(below, value));
}

const nestUnder = (path: readonly string[], value: unknown) =>
  path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);

/** After the last entry, laid out as the first one is. */
function insertEntry(body: string, object: Node, key: string, value: unknown): string {
  const last = object.children?.at(-1);
  const outer = indentationAt(body, object.offset);
  const lead = leadingSpaceOf(body, object, outer);
  const colon = colonTextOf(body, object);
  const indent = lead.includes("\n") ? lead.slice(lead.lastIndexOf("\n") + 1) : undefined;
  const entry =
    JSON.stringify(key) +
    colon +
    (indent === undefined ? toJson(value) : renderJson(body, value, indent));
  const end = last && last.offset + last.length;
  if (end !== undefined)
    return replaceRange(body, end, end, `,${commaGapOf(body, object, lead)}${entry}`);
  const close = lead.includes("\n") ? lineEndingOf(body) + outer : lead;
  return replaceRange(
    body,
    object.offset,
    object.offset + object.length,
    `{${lead}${entry}${close}}`,
  );
}

/** The white space between "{" and the first key; for an empty object what the file would have there. */
function leadingSpaceOf(body: string, object: Node, outer: string): string {
  const first = object.children?.[0];
  if (first) return body.slice(object.offset + 1, first.offset);
  const compact = !body.trim().includes("\n") && /[^\s{}]/.test(body);
  return compact ? "" : lineEndingOf(body) + outer + jsonIndentUnit(body);
}

/** The white space after a comma. */
function commaGapOf(body: string, object: Node, lead: string): string {
  if (lead.includes("\n")) return lead;
  const [first, second] = object.children ?? [];
  if (!first || !second) return colonTextOf(body, object).slice(1);
  return body.slice(first.offset + first.length, second.offset).replace(/^\s*,/, "");
}

/** What stands between key and value, the colon included. */
function colonTextOf(body: string, object: Node): string {
  const [key, value] = object.children?.[0]?.children ?? [];
  const between = key && value && body.slice(key.offset + key.length, value.offset).trimStart();
  if (between) return between.includes("\n") ? ": " : between;
  return !body.trim().includes("\n") && /":\S/.test(body) ? ":" : ": ";
}

function withoutEntry(body: string, path: readonly string[]): string {
  const property = nodeAt(body, path)?.parent;
  const object = property?.parent;
  const siblings = object?.children;
  if (!property || !object || !siblings) return body;
  const at = siblings.indexOf(property);
  const before = siblings[at - 1];
  const after = siblings[at + 1];
  const end = property.offset + property.length;
  if (before) return replaceRange(body, before.offset + before.length, end, "");
  if (after) return replaceRange(body, property.offset, after.offset, "");
  return replaceRange(body, object.offset, object.offset + object.length, "{}");
}

const indentationAt = (body: string, offset: number) =>
  /^[ \t]*/.exec(body.slice(body.lastIndexOf("\n", offset - 1) + 1, offset))?.[0] ?? "";

const jsonIndentUnit = (body: string) => /\n([ \t]+)"/.exec(body)?.[1] ?? "  ";

const toJson = (value: unknown) => JSON.stringify(value);

function renderJson(body: string, value: unknown, indent: string): string {
  if (!body.trim().includes("\n") && /[^\s{}]/.test(body)) return toJson(value);
  return JSON.stringify(value, null, jsonIndentUnit(body)).replaceAll(
    "\n",
    lineEndingOf(body) + indent,
  );
}
