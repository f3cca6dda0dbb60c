import { createRequire } from "node:module";
import type * as Yaml from "yaml";
import { codeOf } from "../../kernel/index.ts";
import { fileErrors } from "./errors.ts";
import type { ParsedFile } from "./json.ts";
import {
  corruptError,
  isEqual,
  isJsonObject,
  lineEndingOf,
  readText,
  replaceRange,
  setAtPath,
  splitByteOrderMark,
  type JsonObject,
} from "./text.ts";

/** Loaded only when there is YAML to read or write. */
export const loadYaml = (): typeof Yaml => createRequire(import.meta.url)("yaml");

/** The map in a YAML 1.2 file; an empty file is `{}`, no file is `undefined`. A number that JavaScript would print
 *  another way than it is written (`0012`, twenty digits) is given as the text written. Rejects `FILE_CORRUPT`,
 *  `FILE_UNREADABLE`. */
export async function readYaml(path: string): Promise<ParsedFile | undefined> {
  const text = await readText(path);
  return text === undefined ? undefined : { text, value: parseYaml(text, path) };
}

/** `path` only names the file in errors. Throws `FILE_CORRUPT`: also for duplicate keys and for excessive aliases. */
export function parseYaml(text: string, path: string): JsonObject {
  return valueOf(parseDocument(text, path), text, path);
}

export function parseDocument(text: string, path: string): Yaml.Document.Parsed {
  const { mark, body } = splitByteOrderMark(text);
  const options = {
    version: "1.2",
    uniqueKeys: true,
    prettyErrors: false,
    keepSourceTokens: true,
  } as const;
  const document = loadYaml().parseDocument(body, options);
  const [first] = document.errors;
  if (first)
    throw corruptError(
      path,
      text,
      first.pos[0] + mark.length,
      expectations[first.code] ?? "valid YAML 1.2",
    );
  const { contents } = document;
  if (contents !== null && !loadYaml().isMap(contents) && !isEmptyDocument(contents)) {
    throw corruptError(
      path,
      text,
      contents.range[0] + mark.length,
      'a map of "key: value" lines at the top',
    );
  }
  return document;
}

const isEmptyDocument = (node: unknown) => loadYaml().isScalar(node) && node.value === null;

export function valueOf(document: Yaml.Document.Parsed, text: string, path: string): JsonObject {
  loadYaml().visit(document, {
    Scalar(_key, node) {
      if (typeof node.value === "number" && node.source && String(node.value) !== node.source)
        node.value = node.source;
    },
  });
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return isJsonObject(value) ? value : {};
  } catch (cause) {
    if (!(cause instanceof ReferenceError)) throw cause;
    const offset = unresolvedAlias(document);
    if (offset !== undefined)
      throw corruptError(path, text, offset, "the name of an anchor defined above");
    throw corruptError(path, text, 0, "at most 100 uses of an anchor", "Write the values out.");
  }
}

function unresolvedAlias(document: Yaml.Document.Parsed): number | undefined {
  let offset: number | undefined;
  loadYaml().visit(document, {
    Alias(_key, node) {
      if (!node.resolve(document)) offset ??= node.range?.[0];
    },
  });
  return offset;
}

/** By the codes of `loadYaml`; its own messages may quote the file. */
const expectations: Readonly<Record<string, string>> = {
  ALIAS_PROPS: "no anchor or tag on an alias",
  BAD_ALIAS: "the name of an anchor defined before",
  BAD_COLLECTION_TYPE: "a tag that fits the value",
  BAD_DIRECTIVE: "a %YAML or %TAG directive",
  BAD_DQ_ESCAPE: "a known escape in double quotes; single quotes take a backslash as it is",
  BAD_INDENT: "the indentation of the lines around it, or a closing brace or bracket",
  BAD_PROP_ORDER: "anchors and tags before the value",
  BAD_SCALAR_START: "a value in quotes: a plain one cannot start with this character",
  BLOCK_AS_IMPLICIT_KEY: 'one "key: value" per line; put a value that holds ": " in quotes',
  BLOCK_IN_FLOW: "no indented block between braces or brackets",
  DUPLICATE_KEY: "every key once in a map",
  IMPOSSIBLE: "valid YAML 1.2",
  KEY_OVER_1024_CHARS: 'a ":" within 1,024 characters',
  MISSING_CHAR: "a closing quote, brace or bracket, or a colon or comma",
  MULTILINE_IMPLICIT_KEY: 'a ":" after the key on the same line',
  MULTIPLE_ANCHORS: "one anchor for a value",
  MULTIPLE_DOCS: 'one document; remove the second "---"',
  MULTIPLE_TAGS: "one tag for a value",
  NON_STRING_KEY: "a text as key",
  TAB_AS_INDENT: "spaces, not tabs, as indentation",
  TAG_RESOLVE_FAILED: "a value that fits its tag",
  UNEXPECTED_TOKEN: "a key, a value or the end of the line",
};

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
