import type * as Yaml from "yaml";
import { codeOf } from "../../kernel/index.ts";
import { fileErrors } from "./errors.ts";
import { lineEndingOf, replaceRange, splitByteOrderMark } from "./text.ts";
import { isEqual, setAtPath, type JsonObject } from "./value.ts";
import { parseDocument, parseYaml, valueOf, loadYaml } from "./yaml.ts";

const newFileHeader = [
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
  const { mark, body } = splitByteOrderMark(text ?? newFileHeader);
  const wanted = setAtPath(parseYaml(body, file), path, value);
  const next = wanted && tryEdit(body, path, value, file);
  if (!next || !isEqual(verifyEdit(next, file), wanted)) throw editRefusedError(file, path);
  return mark + next;
}

function tryEdit(
  body: string,
  path: readonly string[],
  value: string,
  file: string,
): string | undefined {
  try {
    return editDocument(body, path, value, file);
  } catch (error) {
    if (codeOf(error) === "FILE_CORRUPT") return undefined;
    throw error;
  }
}

function verifyEdit(text: string, file: string): JsonObject | undefined {
  try {
    return valueOf(parseDocument(text, file), text, file);
  } catch {
    return undefined;
  }
}

function editRefusedError(file: string, path: readonly string[]) {
  const lines = path.map((key, depth) => `${"  ".repeat(depth)}${keyText(key)}:`).join("\n");
  const sentence = `it is laid out in a way that cannot be changed safely. Set this by hand:\n${lines} "<the token>"`;
  return fileErrors.FILE_EDIT_REFUSED(file, sentence, { details: { path } });
}

type Pair = Yaml.Pair<Yaml.ParsedNode, Yaml.ParsedNode | null>;

/** Walks down to where `path` ends in this file and puts the rest of it there. */
function editDocument(
  body: string,
  path: readonly string[],
  value: string,
  file: string,
): string | undefined {
  const { contents } = parseDocument(body, file);
  if (isEmpty(contents)) return insertLine(body, body.length, renderBlock(body, path, value, ""));
  let node = contents as Yaml.ParsedNode;
  for (const [depth, key] of path.entries()) {
    if (!loadYaml().isMap(node)) return undefined;
    const named = ({ key: found }: Pair) =>
      loadYaml().isScalar(found) && String(found.value) === key;
    const pair: Pair | undefined = node.items.find(named);
    const rest = path.slice(depth + 1);
    if (!pair) return insertPair(body, node, path.slice(depth), value);
    if (rest.length === 0) return setValue(body, pair, quoteString(value));
    if (isEmpty(pair.value)) return fillParent(body, node, pair, rest, value);
    node = pair.value as Yaml.ParsedNode;
  }
  return undefined;
}

const isEmpty = (node: Yaml.ParsedNode | null) =>
  node === null || (loadYaml().isScalar(node) && node.value === null);

function setValue(body: string, pair: Pair, rendered: string): string | undefined {
  const node = pair.value;
  if (node !== null && !loadYaml().isScalar(node) && !loadYaml().isAlias(node)) return undefined;
  const [from, to] = node?.range ?? [0, 0];
  if (to <= from)
    return replaceRange(
      body,
      valueOffset(pair),
      valueOffset(pair),
      `${colonNeeded(pair)} ${rendered}`,
    );
  const old = body.slice(from, to);
  const end = /\r?\n$/.exec(old)?.[0] ?? ""; // a block scalar's range holds its last line ending
  const single = old.startsWith("'") && /^"[\w-]*"$/.test(rendered);
  return replaceRange(body, from, to, (single ? rendered.replaceAll('"', "'") : rendered) + end);
}

type Token = { readonly type: string; readonly offset: number; readonly source: string };

/** Behind the colon, and behind an anchor or a tag of the missing value. */
function valueOffset(pair: Pair): number {
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
  if (map.flow || explicit) return setValue(body, pair, renderFlowMap(rest, value));
  const inner = indentOf(body, map) + yamlIndentUnit(body);
  return insertLine(body, valueOffset(pair), renderBlock(body, rest, value, inner));
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
    const entry = `${flowKey(body, map, key)}: ${rest.length === 0 ? quoteString(value) : renderFlowMap(rest, value)}`;
    const at = last ? endOffset(last) : map.range[0] + 1;
    return replaceRange(body, at, at, last ? `, ${entry}` : entry);
  }
  if (!last) return undefined;
  return insertLine(body, endOffset(last), renderBlock(body, path, value, indentOf(body, map)));
}

const endOffset = (pair: Pair): number => Math.max(pair.key.range[1], pair.value?.range[1] ?? 0);

/** Puts whole lines behind the line that holds `offset`, in the file's own line ending. */
function insertLine(body: string, offset: number, lines: string): string {
  if (offset === 0 || body[offset - 1] === "\n")
    return replaceRange(body, offset, offset, lines + lineEndingOf(body));
  const end = body.indexOf("\n", offset);
  return end < 0
    ? body + lineEndingOf(body) + lines
    : replaceRange(body, end + 1, end + 1, lines + lineEndingOf(body));
}

const indentOf = (body: string, map: Yaml.YAMLMap.Parsed): string => {
  const start = map.items[0]?.key.range[0] ?? 0;
  return " ".repeat(start - (body.lastIndexOf("\n", start - 1) + 1));
};

const yamlIndentUnit = (body: string): string =>
  /^[^\s#][^\n]*:[^\n]*\n( +)[^\s#]/m.exec(body)?.[1] ?? "  ";

function renderBlock(body: string, path: readonly string[], value: string, indent: string): string {
  const step = yamlIndentUnit(body);
  const lines = path.map((key, depth) => `${indent}${step.repeat(depth)}${keyText(key)}:`);
  return `${lines.join(lineEndingOf(body))} ${quoteString(value)}`;
}

const renderFlowMap = (path: readonly string[], value: string): string =>
  path.reduceRight((inner, key) => `{ ${keyText(key)}: ${inner} }`, quoteString(value));

const flowKey = (body: string, map: Yaml.YAMLMap.Parsed, key: string) =>
  body[map.items[0]?.key.range[0] ?? -1] === '"' ? JSON.stringify(key) : keyText(key);

/** Plain when it cannot be taken for anything but text. */
function keyText(key: string): string {
  return /^[A-Za-z_][\w-]*$/.test(key) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(key)
    ? key
    : quoteString(key);
}

/** JSON's string is a YAML string; characters that YAML does not print are escaped too. */
const quoteString = (text: string) =>
  JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g, escapeCharacter);

const escapeCharacter = (character: string) =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
