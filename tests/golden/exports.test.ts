// The entry points of the package and the names that they export.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "rolldown/utils";
import { expect, test } from "vitest";
import { expectGolden } from "./golden.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Returns the exported names of a source file, each after `type` if it has no value. */
function namesOf(file: string): string[] {
  const { module, errors } = parseSync(file, readFileSync(file, "utf8"));
  expect(errors).toEqual([]);
  const entries = module.staticExports.flatMap((each) => each.entries);
  return entries.flatMap(({ exportName, moduleRequest, isType }) => {
    const mark = isType ? "type " : "";
    if (exportName.kind === "Default") return [`${mark}default`];
    if (exportName.name !== null) return [`${mark}${exportName.name}`];
    const all = namesOf(join(dirname(file), moduleRequest!.value));
    return isType ? all.map((name) => `type ${name.replace(/^type /, "")}`) : all;
  });
}

/** The source of a file that the build writes. */
const sourceOf = (built: string): string =>
  join(root, built.replace(/^\.\/dist\//, "").replace(/\.js$/, ".ts"));

test("entry points export the names of the golden file", async () => {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  };
  const lines = Object.entries(manifest.exports).flatMap(([entry, targets]) => {
    if (typeof targets === "string") return [`${entry} ${targets}`];
    return Object.entries(targets)
      .filter(([condition]) => condition !== "types")
      .flatMap(([condition, built]) => {
        const file = sourceOf(built);
        expect(existsSync(file), file).toBe(true);
        const names = namesOf(file).toSorted((a, b) => (a < b ? -1 : 1));
        return [`${entry} (${condition})`, ...names.map((name) => `  ${name}`)];
      });
  });
  expect(lines.length).toBeGreaterThan(300);
  await expectGolden("exports.txt", `${lines.join("\n")}\n`);
});
