// Tests that browser tests wait for what a page shows, in place of reading it once.
import { parseAst } from "rolldown/parseAst";
import { describe, expect, test } from "vitest";
import { filesUnder, read } from "./source.ts";

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

/** Methods of a page or a locator that read its state once. */
const readers = new Set(
  [
    "count textContent allTextContents innerText allInnerTexts innerHTML inputValue getAttribute",
    "isVisible isHidden isChecked isDisabled isEnabled isEditable boundingBox",
    "evaluate evaluateAll ariaSnapshot",
  ].flatMap((names) => names.split(" ")),
);
const files = filesUnder(["tests/browser", "tests/long/browser", "tests/e2e"], /\.tsx?$/);

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value;
const childrenOf = (node: Node): Node[] => Object.values(node).flat().filter(isNode);

/** Calls `visit` with each node; nodes below one that `visit` returns false for are left out. */
function walk(node: Node, visit: (node: Node) => boolean | void): void {
  if (visit(node) !== false) for (const child of childrenOf(node)) walk(child, visit);
}
function some(node: Node, fits: (node: Node) => boolean): boolean {
  let found = false;
  walk(node, (each) => {
    found ||= fits(each);
    return !found;
  });
  return found;
}
const nameOf = (node: unknown): string => (isNode(node) ? String(node["name"] ?? "") : "");
const isFunction = (node: unknown): node is Node => isNode(node) && /Function/.test(node.type);

/** True for `page.url()`, for a reader of a locator, and for a call of a function in `helpers`. */
function isRead(node: Node, helpers: ReadonlySet<string>): boolean {
  if (node.type !== "CallExpression" || !isNode(node["callee"])) return false;
  const callee = node["callee"];
  if (callee.type !== "MemberExpression") return helpers.has(nameOf(callee));
  const method = nameOf(callee["property"]);
  return readers.has(method) || (method === "url" && nameOf(callee["object"]) === "page");
}

/** Names of the functions of a file that return what they read. */
function helpersOf(program: Node): ReadonlySet<string> {
  const helpers = new Set<string>();
  walk(program, ({ type, id, init }) => {
    if (type !== "VariableDeclarator" || !isFunction(init)) return;
    const body = init["body"] as Node;
    if (body.type !== "BlockStatement" && some(body, (node) => isRead(node, helpers)))
      helpers.add(nameOf(id));
  });
  return helpers;
}

/** The argument of `expect(…)`, but not of `expect.poll(…)`. */
function judgedBy(node: Node): Node | undefined {
  if (node.type !== "CallExpression" || nameOf(node["callee"]) !== "expect") return undefined;
  return (node["arguments"] as Node[])[0];
}

/** Declarations in a function that hold one reading and are used for nothing but `expect`. */
function readings(body: Node, helpers: ReadonlySet<string>): Node[] {
  const read = new Map<string, Node>();
  const uses = new Map<string, number>();
  const judged = new Map<string, number>();
  const count = (into: Map<string, number>, name: string) =>
    into.set(name, (into.get(name) ?? 0) + 1);
  walk(body, (node) => {
    const { type, id, init } = node;
    if (type === "VariableDeclarator" && isNode(init) && init.type === "AwaitExpression")
      if (isRead(init["argument"] as Node, helpers)) read.set(nameOf(id), node);
    if (type === "Identifier") count(uses, nameOf(node));
    const argument = judgedBy(node);
    if (argument)
      walk(argument, (each) => {
        if (each.type === "Identifier") count(judged, nameOf(each));
      });
  });
  // The declaration is one use.
  return [...read].flatMap(([name, node]) =>
    judged.has(name) && uses.get(name) === judged.get(name)! + 1 ? [node] : [],
  );
}

/** @returns The places where a test judges one reading of a page, as `path:line`. */
function findReadings(path: string, text: string): string[] {
  const program = parseAst(text, { lang: path.endsWith("x") ? "tsx" : "ts" }) as unknown as Node;
  const helpers = helpersOf(program);
  const found = new Set(readings(program, helpers));
  walk(program, (node) => {
    if (isFunction(node)) for (const reading of readings(node, helpers)) found.add(reading);
    const argument = judgedBy(node);
    if (argument && some(argument, (each) => isRead(each, helpers))) found.add(node);
  });
  return [...found].map(({ start }) => `${path}:${text.slice(0, start).split("\n").length}`);
}

describe("Browser tests", () => {
  test("wait for what a page shows with expect.poll", () => {
    expect(files.length).toBeGreaterThan(50);
    expect(files.flatMap((path) => findReadings(path, read(path)))).toEqual([]);
  });

  test.each([
    'expect(await page.locator("b").count()).toBe(1);',
    'expect(new URL(page.url()).search).toBe("?a");',
    'const text = await page.locator("b").textContent();\nexpect(text).toBe("x");',
    'const shown = () => page.locator("b").allTextContents();\nexpect((await shown()).length).toBe(1);',
    'expect([await send.getAttribute("aria-disabled"), 2]).toEqual(["true", 2]);',
  ])("finds a single reading: %s", (text) => {
    expect(findReadings("x.ts", text)).toHaveLength(1);
  });

  test("finds a variable whose name another test uses, too", () => {
    const text = [
      'f(async () => {\n  const text = await b.textContent();\n  expect(text).toBe("x");\n});',
      "f(async () => {\n  const text = await b.textContent();\n  await b.fill(text);\n});",
    ].join("\n");
    expect(findReadings("x.ts", text)).toEqual(["x.ts:2"]);
  });

  test.each([
    'await expect.poll(() => page.locator("b").count()).toBe(1);',
    "const text = await b.textContent();\nawait expect.poll(() => b.textContent()).not.toBe(text);",
    "expect(await answer.json()).toEqual({});",
  ])("accepts %s", (text) => {
    expect(findReadings("x.ts", text)).toEqual([]);
  });
});
