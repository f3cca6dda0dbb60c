import { describe, expect, test } from "vitest";
import { codeOnly, importsOf, sources, type Import, type Source } from "./source.ts";

/* Finds files that import each other. A cycle of values can fail while it loads; a circle of types
 * loads nothing, but its files can be read only together. */

/** Lower it with each circle that goes. */
const maxCircles = 4;

type Importer = Pick<Source, "path" | "imports">;

/** Finds the import cycles, each as a chain of paths. */
function cycles(files: readonly Importer[]): string[] {
  const values = (imports: readonly Import[]): string[] =>
    imports.flatMap(({ typeOnly, path }) => (typeOnly || path === undefined ? [] : [path]));
  const edges = new Map(files.map(({ path, imports }) => [path, values(imports)] as const));
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(" -> "));
    if (trail.includes(path) || done.has(path)) return;
    for (const next of edges.get(path) ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const path of edges.keys()) walk(path, []);
  return found;
}

/**
 * Finds the groups of files that import each other in a circle, `import type` included: the strongly
 * connected components of more than one file. A reader cannot take one file of a group by itself.
 */
function circles(files: readonly Importer[]): string[][] {
  const targets = new Map(
    files.map(({ path, imports }) => [path, imports.map((wanted) => wanted.path)] as const),
  );
  const order = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  /** Returns the lowest order number that a file reaches within the stack (Tarjan's algorithm). */
  const visit = (path: string): number => {
    const own = order.size;
    order.set(path, own);
    stack.push(path);
    let lowest = own;
    for (const next of targets.get(path) ?? []) {
      if (next === undefined || !targets.has(next)) continue;
      if (!order.has(next)) lowest = Math.min(lowest, visit(next));
      else if (stack.includes(next)) lowest = Math.min(lowest, order.get(next)!);
    }
    if (lowest !== own) return lowest;
    const group = stack.splice(stack.indexOf(path));
    if (group.length > 1) found.push(group.sort());
    return lowest;
  };
  for (const path of targets.keys()) if (!order.has(path)) visit(path);
  return found;
}

const file = (path: string, text: string): Importer => ({
  path,
  imports: importsOf(path, codeOnly(text)),
});

describe("imports of the sources", () => {
  test("contain no cycle of value imports", () => {
    expect(cycles(sources())).toEqual([]);
  });

  test("contain few circles of type imports", () => {
    const found = circles(sources());
    const list = found.map((group) => group.join("\n  ")).join("\n");
    expect(found.length, `circles:\n${list}`).toBeLessThanOrEqual(maxCircles);
  });
});

describe("cycles", () => {
  test("finds cycles of values and ignores cycles of types", () => {
    const other = file("kernel/b.ts", `import { a } from "./a.ts";`);
    expect(cycles([file("kernel/a.ts", `import { b } from "./b.ts";`), other])).toHaveLength(1);
    expect(cycles([file("kernel/a.ts", `import type { B } from "./b.ts";`), other])).toEqual([]);
  });
});

describe("circles", () => {
  const a = file("kernel/a.ts", `import type { B } from "./b.ts";`);
  const b = file("kernel/b.ts", `import type { C } from "./c.ts";`);

  test("finds files that import types of each other", () => {
    const c = file("kernel/c.ts", `import type { A } from "./a.ts";`);
    const outside = file("kernel/d.ts", `import { a } from "./a.ts";`);
    expect(circles([a, b, c, outside])).toEqual([["kernel/a.ts", "kernel/b.ts", "kernel/c.ts"]]);
  });

  test("finds nothing in a chain", () => {
    expect(circles([a, b, file("kernel/c.ts", "")])).toEqual([]);
  });
});
