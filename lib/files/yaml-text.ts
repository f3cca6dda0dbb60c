// Looks up a text in a YAML file, such as a token. A value that a person meant as a text and that
// YAML reads as something else is a problem with line and column, not a missing value.
import type * as Yaml from "yaml";
import type { ParsedFile } from "./json.ts";
import { inQuotes, splitByteOrderMark, textProblem, type FoundText } from "./text.ts";
import { loadYaml } from "./yaml.ts";

type Node = Yaml.ParsedNode | null;
type Pair = Yaml.Pair<Yaml.ParsedNode, Node>;
type Map = Yaml.YAMLMap.Parsed<Yaml.ParsedNode, Node>;
interface Token {
  readonly type: string;
  readonly offset: number;
  readonly source: string;
}

/**
 * Looks up a text in a YAML file. A number counts as the text in the file. A missing key, a key
 * without a value, and blank text count as no value.
 *
 * @param path - The name of the file in problems.
 */
export function findYamlText(
  { text }: ParsedFile,
  keys: readonly string[],
  path: string,
): FoundText {
  const { mark, body } = splitByteOrderMark(text);
  const options = { version: "1.2", prettyErrors: false, keepSourceTokens: true } as const;
  const document = loadYaml().parseDocument(body, options);
  const problem = (offset: number, depth: number, expected?: string): FoundText =>
    textProblem({ path, text }, offset + mark.length, keys.slice(0, depth), expected);
  const resolve = (node: Node | undefined): Node =>
    (loadYaml().isAlias(node) ? (node.resolve(document) as Node) : node) ?? null;

  let node: Node = document.contents;
  for (const [depth, key] of keys.entries()) {
    const map = resolve(node);
    if (isEmpty(map)) return { text: undefined };
    if (!loadYaml().isMap(map))
      return problem(offsetOf(node), depth, `a map of "key: value" lines`);
    const pair = findPair(map as Map, key);
    if (!pair) return { text: undefined };
    const below = keys[depth + 1];
    if (below === undefined) {
      const wrong = wrongValue(body, pair, resolve(pair.value));
      if (wrong) return problem(wrong.offset, keys.length, wrong.expected);
      const found = resolve(pair.value) as Yaml.Scalar.Parsed | null;
      const value = textOf(found);
      return { text: value.trim() === "" ? undefined : value };
    }
    const outside = isEmpty(pair.value) ? findPair(map as Map, below) : undefined;
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

const isEmpty = (node: Node): boolean =>
  node === null || (loadYaml().isScalar(node) && node.value === null);

const offsetOf = (node: Node): number => node?.range[0] ?? 0;

const findPair = (map: Map, key: string): Pair | undefined =>
  map.items.find(({ key: found }) => loadYaml().isScalar(found) && String(found.value) === key);

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
  return /^\s*:?\s+#[^\s#]/.test(line) ? wrong() : undefined;
}

const separators = ({ srcToken }: Pair): readonly Token[] => (srcToken?.sep ?? []) as Token[];
