import type * as Yaml from "yaml";
import { codeOf } from "../../kernel/index.ts";
import { fileErrors } from "./errors.ts";
import { lineEnd, splice, splitMark } from "./text.ts";
import { same, withPath, type Tree } from "./value.ts";
import { documentOf, parseYaml, valueOf, yaml } from "./yaml.ts";

const header = [
  "# Secrets of this service: one token per channel. Keep this file out of version control",
  "# and readable by its owner alone (mode 0600).",
  "",
].join("\n");

/** The text with the string at `path` set and every other byte as it was; `undefined` makes a new file. Checked by
 *  reading it again. `file` only names it in errors. Throws `FILE_CORRUPT`, and `FILE_EDIT_REFUSED`, which says what to
 *  add by hand. */
export function editYaml(
  text: string | undefined,
  path: readonly string[],
  value: string,
  file = ".security.yml",
): string {
  const { mark, body } = splitMark(text ?? header);
  const wanted = withPath(parseYaml(body, file), path, value);
  const next = wanted && attempt(body, path, value, file);
  if (!next || !same(reread(next, file), wanted)) throw refused(file, path);
  return mark + next;
}

function attempt(
  body: string,
  path: readonly string[],
  value: string,
  file: string,
): string | undefined {
  try {
    return edited(body, path, value, file);
  } catch (error) {
    if (codeOf(error) === "FILE_CORRUPT") return undefined;
    throw error;
  }
}

function reread(text: string, file: string): Tree | undefined {
  try {
    return valueOf(documentOf(text, file), text, file);
  } catch {
    return undefined;
  }
}

function refused(file: string, path: readonly string[]) {
  const lines = path.map((key, depth) => `${"  ".repeat(depth)}${keyText(key)}:`).join("\n");
  const sentence = `it is laid out in a way that cannot be changed safely. Set this by hand:\n${lines} "<the token>"`;
  return fileErrors.FILE_EDIT_REFUSED(file, sentence, { details: { path } });
}

type Pair = Yaml.Pair<Yaml.ParsedNode, Yaml.ParsedNode | null>;

/** Walks down to where `path` ends in this file and puts the rest of it there. */
function edited(
  body: string,
  path: readonly string[],
  value: string,
  file: string,
): string | undefined {
  const { contents } = documentOf(body, file);
  if (isEmpty(contents)) return insertLine(body, body.length, blockLines(body, path, value, ""));
  let node = contents as Yaml.ParsedNode;
  for (const [depth, key] of path.entries()) {
    if (!yaml().isMap(node)) return undefined;
    const named = ({ key: found }: Pair) => yaml().isScalar(found) && String(found.value) === key;
    const pair: Pair | undefined = node.items.find(named);
    const rest = path.slice(depth + 1);
    if (!pair) return insertPair(body, node, path.slice(depth), value);
    if (rest.length === 0) return setValue(body, pair, quote(value));
    if (isEmpty(pair.value)) return fillParent(body, node, pair, rest, value);
    node = pair.value as Yaml.ParsedNode;
  }
  return undefined;
}

const isEmpty = (node: Yaml.ParsedNode | null) =>
  node === null || (yaml().isScalar(node) && node.value === null);

function setValue(body: string, pair: Pair, rendered: string): string | undefined {
  const node = pair.value;
  if (node !== null && !yaml().isScalar(node) && !yaml().isAlias(node)) return undefined;
  const [from, to] = node?.range ?? [0, 0];
  if (to <= from)
    return splice(body, valuePlace(pair), valuePlace(pair), `${colonNeeded(pair)} ${rendered}`);
  const old = body.slice(from, to);
  const end = /\r?\n$/.exec(old)?.[0] ?? ""; // a block scalar's range holds its last line ending
  const single = old.startsWith("'") && /^"[\w-]*"$/.test(rendered);
  return splice(body, from, to, (single ? rendered.replaceAll('"', "'") : rendered) + end);
}

type Token = { readonly type: string; readonly offset: number; readonly source: string };

/** Behind the colon, and behind an anchor or a tag of the missing value. */
function valuePlace(pair: Pair): number {
  const marks = separators(pair).filter(({ type }) =>
    ["map-value-ind", "anchor", "tag"].includes(type),
  );
  const last = marks.at(-1);
  return last ? last.offset + last.source.length : pair.key.range[1];
}

const separators = (pair: Pair) => (pair.srcToken?.sep ?? []) as readonly Token[];
const colonNeeded = (pair: Pair) =>
  separators(pair).some(({ type }) => type === "map-value-ind") ? "" : ":";

/** A parent without a value: block lines below it, or a flow map in place where lines cannot stand. */
function fillParent(
  body: string,
  map: Yaml.YAMLMap.Parsed,
  pair: Pair,
  rest: readonly string[],
  value: string,
) {
  const explicit = pair.value !== null && pair.value.range[1] > pair.value.range[0];
  if (map.flow || explicit) return setValue(body, pair, flowMap(rest, value));
  const inner = indentOf(body, map) + stepOf(body);
  return insertLine(body, valuePlace(pair), blockLines(body, rest, value, inner));
}

function insertPair(
  body: string,
  map: Yaml.YAMLMap.Parsed,
  path: readonly string[],
  value: string,
) {
  const last = map.items.at(-1);
  if (map.flow) {
    const [key = "", ...rest] = path;
    const entry = `${flowKey(body, map, key)}: ${rest.length === 0 ? quote(value) : flowMap(rest, value)}`;
    const at = last ? endOf(last) : map.range[0] + 1;
    return splice(body, at, at, last ? `, ${entry}` : entry);
  }
  if (!last) return undefined;
  return insertLine(body, endOf(last), blockLines(body, path, value, indentOf(body, map)));
}

const endOf = (pair: Pair): number => Math.max(pair.key.range[1], pair.value?.range[1] ?? 0);

/** Puts whole lines behind the line that holds `offset`, in the file's own line ending. */
function insertLine(body: string, offset: number, lines: string): string {
  if (offset === 0 || body[offset - 1] === "\n")
    return splice(body, offset, offset, lines + lineEnd(body));
  const end = body.indexOf("\n", offset);
  return end < 0
    ? body + lineEnd(body) + lines
    : splice(body, end + 1, end + 1, lines + lineEnd(body));
}

const indentOf = (body: string, map: Yaml.YAMLMap.Parsed): string => {
  const start = map.items[0]?.key.range[0] ?? 0;
  return " ".repeat(start - (body.lastIndexOf("\n", start - 1) + 1));
};

const stepOf = (body: string): string =>
  /^[^\s#][^\n]*:[^\n]*\n( +)[^\s#]/m.exec(body)?.[1] ?? "  ";

function blockLines(body: string, path: readonly string[], value: string, indent: string): string {
  const step = stepOf(body);
  const lines = path.map((key, depth) => `${indent}${step.repeat(depth)}${keyText(key)}:`);
  return `${lines.join(lineEnd(body))} ${quote(value)}`;
}

const flowMap = (path: readonly string[], value: string): string =>
  path.reduceRight((inner, key) => `{ ${keyText(key)}: ${inner} }`, quote(value));

const flowKey = (body: string, map: Yaml.YAMLMap.Parsed, key: string) =>
  body[map.items[0]?.key.range[0] ?? -1] === '"' ? JSON.stringify(key) : keyText(key);

/** Plain when it cannot be taken for anything but text. */
function keyText(key: string): string {
  return /^[A-Za-z_][\w-]*$/.test(key) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(key)
    ? key
    : quote(key);
}

/** JSON's string is a YAML string; characters that YAML does not print are escaped too. */
const quote = (text: string) =>
  JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g, escaped);

const escaped = (character: string) =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
