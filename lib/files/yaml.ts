import { createRequire } from "node:module";
import type * as Yaml from "yaml";
import type { ParsedFile } from "./json.ts";
import { corruptError, readText, splitByteOrderMark } from "./text.ts";
import { isJsonObject, type JsonObject } from "./value.ts";

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
