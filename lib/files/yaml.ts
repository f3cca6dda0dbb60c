// Reads and edits YAML files, and looks up texts in them.
import { createRequire } from "node:module";
import type * as Yaml from "yaml";
import { codeOf } from "../../kernel/index.ts";
import { fileErrors } from "./errors.ts";
import type { ParsedFile } from "./json.ts";
import {
  corruptError,
  inQuotes,
  isEqual,
  lineEndingOf,
  lookAlikeError,
  readText,
  replaceRange,
  setAtPath,
  splitByteOrderMark,
  textProblem,
  type FoundText,
  type JsonObject,
} from "./text.ts";
import { lookAlikeOf } from "../look-alikes.ts";
import { isObject } from "../util.ts";

/** Loads the YAML parser on first use. */
const loadYaml = (): typeof Yaml => createRequire(import.meta.url)("yaml");

/**
 * Reads a YAML 1.2 file whose top level is a map. An empty file is `{}`. A number that JavaScript
 * would print differently (`0012`, twenty digits) becomes the text in the file.
 *
 * @returns The text and its value, or undefined if the file does not exist.
 * @throws FILE_CORRUPT if it is not valid YAML, has a key twice, or uses an anchor more than 100
 * times.
 * @throws FILE_UNREADABLE if it cannot be read.
 * @throws FILE_TOO_LARGE if it is larger than 1 MiB.
 */
export async function readYaml(path: string): Promise<ParsedFile | undefined> {
  const text = await readText(path);
  return text === undefined ? undefined : { text, value: parseYaml(text, path) };
}

/**
 * Parses YAML text whose top level is a map.
 *
 * @param path - The name of the file in errors.
 * @throws FILE_CORRUPT also for duplicate keys and for excessive aliases.
 */
export function parseYaml(text: string, path: string): JsonObject {
  return valueOf(parseDocument(text, path), text, path);
}

function parseDocument(text: string, path: string): Yaml.Document.Parsed {
  const { mark, body } = splitByteOrderMark(text);
  const options = {
    version: "1.2",
    uniqueKeys: true,
    prettyErrors: false,
    keepSourceTokens: true,
    logLevel: "error", // a warning would print a key
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
  if (!isEmpty(contents) && !loadYaml().isMap(contents)) {
    throw corruptError(
      path,
      text,
      offsetOf(contents) + mark.length,
      'a map of "key: value" lines at the top',
    );
  }
  return document;
}

function valueOf(document: Yaml.Document.Parsed, text: string, path: string): JsonObject {
  loadYaml().visit(document, {
    Scalar(_key, node) {
      if (typeof node.value === "number" && node.source && String(node.value) !== node.source)
        node.value = node.source;
    },
  });
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return isObject(value) ? value : {};
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

/** Expectations by the error codes of the YAML parser, whose own messages may quote the file. */
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

type Node = Yaml.ParsedNode | null;
type Pair = Yaml.Pair<Yaml.ParsedNode, Node>;
type Token = { readonly type: string; readonly offset: number; readonly source: string };

const isEmpty = (node: Node): boolean =>
  node === null || (loadYaml().isScalar(node) && node.value === null);
const separators = ({ srcToken }: Pair): readonly Token[] => (srcToken?.sep ?? []) as Token[];

/**
 * Looks up a text in a YAML file, such as a token. A number counts as the text in the file. A
 * missing key, a key without a value, and blank text count as no value. A value that a person meant
 * as a text and that YAML reads as something else is a problem.
 *
 * @param path - The name of the file in problems.
 * @throws FILE_CORRUPT if a key looks like one of `keys`, and is another one.
 */
export function findYamlText(
  { text }: ParsedFile,
  keys: readonly string[],
  path: string,
): FoundText {
  const { mark, body } = splitByteOrderMark(text);
  const options = {
    version: "1.2",
    prettyErrors: false,
    keepSourceTokens: true,
    logLevel: "error",
  } as const;
  const document = loadYaml().parseDocument(body, options);
  const problem = (offset: number, depth: number, expected?: string): FoundText =>
    textProblem({ path, text }, offset + mark.length, keys.slice(0, depth), expected);
  const resolve = (node: Node | undefined): Node =>
    (loadYaml().isAlias(node) ? (node.resolve(document) as Node) : node) ?? null;

  const maps: Yaml.YAMLMap.Parsed[] = [];
  let node: Node = document.contents;
  for (const [depth, key] of keys.entries()) {
    const map = resolve(node);
    if (!isEmpty(map) && !loadYaml().isMap(map))
      return problem(offsetOf(node), depth, `a map of "key: value" lines`);
    if (loadYaml().isMap(map)) maps.push(map as Yaml.YAMLMap.Parsed);
    // Spaces that YAML does not know put a key into a map further out.
    for (const outer of maps) {
      const other = findLookAlike(outer, key);
      if (other) throw lookAlikeError(path, text, other.key.range[0] + mark.length, key);
    }
    if (isEmpty(map)) return { text: undefined };
    const pair = findPair(map as Yaml.YAMLMap.Parsed, key);
    if (!pair) return { text: undefined };
    const below = keys[depth + 1];
    if (below === undefined) {
      const wrong = wrongValue(body, pair, resolve(pair.value));
      if (wrong) return problem(wrong.offset, keys.length, wrong.expected);
      const found = resolve(pair.value) as Yaml.Scalar.Parsed | null;
      const value = textOf(found);
      return { text: value.trim() === "" ? undefined : value };
    }
    const outside = isEmpty(pair.value) ? findPair(map as Yaml.YAMLMap.Parsed, below) : undefined;
    if (outside)
      return problem(
        outside.key.range[0],
        depth + 2,
        `indented more than the line "${key}:" above it`,
      );
    node = pair.value;
  }
  return { text: undefined };
}

const offsetOf = (node: Node): number => node?.range[0] ?? 0;

const findPair = (map: Yaml.YAMLMap.Parsed, key: string): Pair | undefined =>
  map.items.find(({ key: found }) => loadYaml().isScalar(found) && String(found.value) === key);

/** Finds a key that a reader would take for `key`. */
const findLookAlike = (map: Yaml.YAMLMap.Parsed, key: string): Pair | undefined =>
  map.items.find(
    ({ key: found }) =>
      loadYaml().isScalar(found) && lookAlikeOf(String(found.value), [key]) !== undefined,
  );

/** The text of a number is the one in the file: `0012` and `1e10` keep their characters. */
function textOf(scalar: Yaml.Scalar.Parsed | null): string {
  if (scalar === null || scalar.value === null) return "";
  return typeof scalar.value === "string" ? scalar.value : (scalar.source ?? "");
}

/** @returns What is wrong with the value of a pair, or undefined if it is a text or empty. */
function wrongValue(
  body: string,
  pair: Pair,
  value: Node,
): { readonly offset: number; readonly expected: string } | undefined {
  const [first] = separators(pair).filter(({ type }) => type === "anchor" || type === "tag");
  const offset = first?.offset ?? (pair.value ? offsetOf(pair.value) : pair.key.range[1]);
  const wrong = (expected = inQuotes) => ({ offset, expected });
  if (value === null || isEmpty(value)) return emptyValueProblem(body, pair, value, wrong);
  if (!loadYaml().isScalar(value) || typeof value.value === "boolean") return wrong();
  if (value.tag !== undefined && !textTags.has(value.tag)) return wrong();
  const text = textOf(value).trim();
  const isBlock = value.type === "BLOCK_LITERAL" || value.type === "BLOCK_FOLDED";
  if (text === "" && (isBlock || first)) return wrong();
  // A text over several lines is joined with spaces.
  const written = body.slice(value.range[0], value.range[1]).trim();
  const lines = written.split("\n").slice(isBlock ? 1 : 0);
  const isSplit = lines.filter((line) => line.trim() !== "").length > 1;
  return isSplit ? wrong(`${inQuotes} on one line`) : undefined;
}

/** Tags of a text: `!` and `!!str`. Any other one may begin a value without quotes. */
const textTags: ReadonlySet<string> = new Set(["!", "tag:yaml.org,2002:str"]);

/**
 * A key without a value is not a problem. For YAML, a value that begins with `&`, `!` or `#`, and
 * `~`, is none either.
 */
function emptyValueProblem<T>(
  body: string,
  pair: Pair,
  value: Node,
  wrong: (expected?: string) => T,
): T | undefined {
  const written = value === null ? "" : body.slice(value.range[0], value.range[1]).trim();
  const hasProperties = separators(pair).some(({ type }) => type === "anchor" || type === "tag");
  if (written !== "" || hasProperties) return wrong();
  const end = body.indexOf("\n", pair.key.range[1]);
  const line = body.slice(pair.key.range[1], end < 0 ? undefined : end);
  return /^(?:\s*:)?\s+#[^\s#]/.test(line) ? wrong() : undefined;
}

const newFileHeader = [
  "# Secrets of this service: one token per channel. Keep this file out of version control",
  "# and readable by its owner alone (mode 0600).",
  "",
].join("\n");

/**
 * Sets one string in YAML text and leaves all other bytes unchanged. The result is parsed again and
 * compared with the expected value.
 *
 * @param text - The present text; undefined makes a new file.
 * @param file - The name of the file in errors.
 * @throws FILE_CORRUPT if the text is not valid.
 * @throws FILE_EDIT_REFUSED if the edit cannot be made safely. The message has the lines to add by
 * hand.
 */
export function editYaml(
  text: string | undefined,
  path: readonly string[],
  value: string,
  file = ".security.yml",
): string {
  const { mark, body } = splitByteOrderMark(text ?? newFileHeader);
  const parsed = parseYaml(body, file);
  findYamlText({ text: mark + body, value: parsed }, path, file);
  const wanted = setAtPath(parsed, path, value);
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
    return parseYaml(text, file);
  } catch {
    return undefined;
  }
}

function editRefusedError(file: string, path: readonly string[]) {
  const lines = path.map((key, depth) => `${"  ".repeat(depth)}${keyText(key)}:`).join("\n");
  const reason = `its layout cannot be edited safely. Add this by hand:\n${lines} "<the token>"`;
  return fileErrors.FILE_EDIT_REFUSED(file, reason, { details: { path } });
}

/** Finds the deepest existing parent of `path` and inserts the rest of the path there. */
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
    const pair = findPair(node, key);
    const rest = path.slice(depth + 1);
    if (!pair) return insertPair(body, node, path.slice(depth), value);
    if (rest.length === 0) return setValue(body, pair, quoteString(value));
    if (isEmpty(pair.value)) return fillParent(body, node, pair, rest, value);
    node = pair.value as Yaml.ParsedNode;
  }
  return undefined;
}

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
  // The range of a block scalar includes its last line ending.
  const end = /\r?\n$/.exec(old)?.[0] ?? "";
  const single = old.startsWith("'") && /^"[\w-]*"$/.test(rendered);
  return replaceRange(body, from, to, (single ? rendered.replaceAll('"', "'") : rendered) + end);
}

/** The offset after the colon, and after an anchor or a tag without a value. */
function valueOffset(pair: Pair): number {
  const marks = separators(pair).filter(({ type }) =>
    ["map-value-ind", "anchor", "tag"].includes(type),
  );
  const last = marks.at(-1);
  return last ? last.offset + last.source.length : pair.key.range[1];
}

const colonNeeded = (pair: Pair) =>
  separators(pair).some(({ type }) => type === "map-value-ind") ? "" : ":";

/**
 * Fills a parent without a value: with block lines below it, or with a flow map if lines are not
 * possible there.
 */
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
    const rendered = rest.length === 0 ? quoteString(value) : renderFlowMap(rest, value);
    const entry = `${flowKey(body, map, key)}: ${rendered}`;
    const offset = last ? endOffset(last) : map.range[0] + 1;
    return replaceRange(body, offset, offset, last ? `, ${entry}` : entry);
  }
  if (!last) return undefined;
  return insertLine(body, endOffset(last), renderBlock(body, path, value, indentOf(body, map)));
}

const endOffset = (pair: Pair): number => Math.max(pair.key.range[1], pair.value?.range[1] ?? 0);

/** Inserts lines after the line that contains `offset`, with the line ending of the file. */
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
  /^[^\s#][^\n:]*:[^\n]*\n( +)[^\s#]/m.exec(body)?.[1] ?? "  ";

function renderBlock(body: string, path: readonly string[], value: string, indent: string): string {
  const step = yamlIndentUnit(body);
  const lines = path.map((key, depth) => `${indent}${step.repeat(depth)}${keyText(key)}:`);
  return `${lines.join(lineEndingOf(body))} ${quoteString(value)}`;
}

const renderFlowMap = (path: readonly string[], value: string): string =>
  path.reduceRight((inner, key) => `{ ${keyText(key)}: ${inner} }`, quoteString(value));

const flowKey = (body: string, map: Yaml.YAMLMap.Parsed, key: string) =>
  body[map.items[0]?.key.range[0] ?? -1] === '"' ? JSON.stringify(key) : keyText(key);

/** Writes a key without quotes if every YAML parser reads it as text. */
function keyText(key: string): string {
  return /^[A-Za-z_][\w-]*$/.test(key) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(key)
    ? key
    : quoteString(key);
}

/**
 * A JSON string is also a YAML string. Characters that are not printable in YAML are escaped too.
 */
const quoteString = (text: string) =>
  JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g, escapeCharacter);

const escapeCharacter = (character: string) =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
