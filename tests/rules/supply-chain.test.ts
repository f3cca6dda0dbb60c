// Checks the dependencies of the package: reasons, versions, install scripts, licences and lock
// files.
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
const lockedIn = (lockFile: string): readonly (Locked & { readonly name: string })[] =>
  Object.entries((JSON.parse(read(lockFile)) as { packages: Record<string, Locked> }).packages)
    .filter(([path]) => path !== "")
    .map(([path, entry]) => ({ name: path.replace(/^.*node_modules\//, ""), ...entry }));
const locked = lockedIn("package-lock.json");
const installed = locked.filter(({ dev }) => !dev);

/** Licences that require only a notice from programs that use the package. */
const licences = new Set(["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0"]);

describe("dependencies", () => {
  test("have one row each in docs/security.md, and no other rows exist", () => {
    const [, section = ""] = read("docs/security.md").split("## Dependencies\n");
    const listed = [...section.split("\n## ")[0]!.matchAll(/^\| `([^`]+)` +\|/gm)].map(
      ([, name]) => name,
    );
    expect(listed.sort()).toEqual(Object.keys(dependencies).sort());
  });

  test("have exact versions", () => {
    const all = Object.entries({ ...dependencies, ...devDependencies });
    expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });

  test("run no scripts at installation", () => {
    expect(installed.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
  });

  test("have licences that require only a notice", () => {
    const others = installed.filter(({ license = "" }) => !licences.has(license));
    expect(others.map(({ name, license }) => [name, license])).toEqual([]);
  });
});

describe("lock file", () => {
  test.each([
    "package-lock.json",
    "bench/package-lock.json",
    "scripts/reference/package-lock.json",
  ])("%s fixes the content of each package", (lockFile) => {
    const loose = lockedIn(lockFile).filter(
      ({ link, integrity = "" }) => !link && !integrity.startsWith("sha512-"),
    );
    expect(loose).toEqual([]);
  });
});
