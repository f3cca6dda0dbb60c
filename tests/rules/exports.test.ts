import { describe, expect, test } from "vitest";
import { codeOnly, filesUnder, importsOf, projectFiles, read, sources } from "./source.ts";

/* Finds exports that no other file imports. Such a name looks like a contract and is none: a change
 * of it looks dangerous, and the compiler cannot report it when its last use goes. */

const manifests = projectFiles.filter((path) => /(^|\/)package\.json$/.test(path));

/** The sources of the paths that the packages of the project publish. */
const publicEntries = new Set(
  manifests.flatMap((path) =>
    [...read(path).matchAll(/"\.\/(?:dist\/)?([^"]+)\.js"/g)].map(([, entry]) => `${entry}.ts`),
  ),
);

interface Exporter {
  readonly path: string;
  readonly code: string;
}
interface Reader extends Exporter {
  /** Path -> names that this file imports from it. `*` means all names of the file. */
  readonly names: ReadonlyMap<string, ReadonlySet<string>>;
}

const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;
const list = /^export (?:type )?\{([^}]*)\}/gm;

/** The names that a file exports, by declaration or in a list. */
function exportedNames(code: string): string[] {
  const declared = [...code.matchAll(declaration)].map(([, name = ""]) => name);
  const listed = [...code.matchAll(list)].flatMap(([, names = ""]) =>
    names
      .split(",")
      .map((name) => name.trim().replace(/^type /, ""))
      .filter(Boolean)
      .map((name) => name.split(/ as /).at(-1)!),
  );
  return [...new Set([...declared, ...listed])];
}

function toReader(path: string, code: string): Reader {
  const names = new Map<string, Set<string>>();
  for (const wanted of importsOf(path, code)) {
    if (wanted.path === undefined) continue;
    const known = names.get(wanted.path) ?? new Set();
    names.set(wanted.path, known);
    for (const name of wanted.names.length > 0 ? wanted.names : ["*"]) known.add(name);
  }
  return { path, code, names };
}

/** Returns each unused export as `path: name`. `scripts` run built files, whose paths they compute. */
function unusedExports(
  files: readonly Exporter[],
  readers: readonly Reader[],
  scripts: string,
): string[] {
  const isUsed = (path: string, name: string): boolean => {
    // tests/rules/errors.test.ts reads the error tables by name.
    if (path.endsWith("/errors.ts") && name.endsWith("Errors")) return true;
    const word = new RegExp(`\\b${name}\\b`);
    return (
      readers.some((reader) => {
        const wanted = reader.names.get(path);
        if (reader.path === path || !wanted) return false;
        if (wanted.has(name)) return true;
        return wanted.has("*") && (/export (type )?\*/.test(reader.code) || word.test(reader.code));
      }) || word.test(scripts)
    );
  };
  return files
    .filter(({ path }) => !publicEntries.has(path))
    .flatMap(({ path, code }) =>
      exportedNames(code).flatMap((name) => (isUsed(path, name) ? [] : [`${path}: ${name}`])),
    );
}

describe("exports of the sources", () => {
  test("contain no name that only its own file uses", () => {
    const files = sources();
    const others = filesUnder(["tests", "bench", "examples"], /\.tsx?$/).map((path) =>
      toReader(path, codeOnly(read(path))),
    );
    const scripts = projectFiles
      .filter((path) => /\.m?js$/.test(path))
      .map((path) => codeOnly(read(path)))
      .join("\n");
    const readers = [...files.map(({ path, code }) => toReader(path, code)), ...others];
    expect(publicEntries.size).toBeGreaterThan(10);
    expect(unusedExports(files, readers, scripts)).toEqual([]);
  });
});

describe("unusedExports", () => {
  const find = (exporting: string, importing: string): string[] =>
    unusedExports(
      [{ path: "lib/a.ts", code: exporting }],
      [toReader("lib/a.ts", exporting), toReader("lib/b.ts", importing)],
      "runs(built);",
    );

  test.each([
    "export const one = 1;",
    "export async function one() {}",
    "export interface one {}",
    "export { two as one };",
    'export { type one } from "./c.ts";',
  ])("finds the name that is exported by: %s", (text) => {
    expect(find(text, 'import { two } from "./a.ts";')).toEqual(["lib/a.ts: one"]);
  });

  test.each([
    'import { one } from "./a.ts";',
    'import type { one as two } from "./a.ts";',
    'export { one } from "./a.ts";',
    'export * from "./a.ts";',
    'const { one } = await import("./a.ts");',
    'import * as all from "./a.ts";\nall.one();',
  ])("accepts the use: %s", (text) => {
    expect(find("export const one = 1;", text)).toEqual([]);
  });
});
