import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}
interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly link?: boolean;
}

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const { dependencies, devDependencies } = JSON.parse(read("package.json")) as Manifest;
const locked = Object.entries(
  (JSON.parse(read("package-lock.json")) as { packages: Record<string, Locked> }).packages,
)
  .filter(([path]) => path !== "")
  .map(([path, entry]) => ({ name: path.replace(/^.*node_modules\//, ""), ...entry }));
const installed = locked.filter(({ dev }) => !dev);

/** Free to use in any program, and no condition on ours but the notice. */
const licences = new Set(["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0"]);

describe("what is installed with the package", () => {
  test("each package it asks for by itself has its reason in docs/security.md, and nothing else has one", () => {
    const [, section = ""] = read("docs/security.md").split("## Dependencies\n");
    const listed = [...section.split("\n## ")[0]!.matchAll(/^\| `([^`]+)` +\|/gm)].map(
      ([, name]) => name,
    );
    expect(listed.sort()).toEqual(Object.keys(dependencies).sort());
  });

  test("versions are exact", () => {
    const all = Object.entries({ ...dependencies, ...devDependencies });
    expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });

  test("nothing of it runs when it is installed", () => {
    expect(installed.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
  });

  test("each licence lets anybody use it", () => {
    const others = installed.filter(({ license = "" }) => !licences.has(license));
    expect(others.map(({ name, license }) => [name, license])).toEqual([]);
  });
});

test("every locked package is held to its content", () => {
  expect(
    locked.filter(({ link, integrity = "" }) => !link && !integrity.startsWith("sha512-")),
  ).toEqual([]);
});
