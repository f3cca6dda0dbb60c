// Checks the dependencies of the package and the packages in its bundles: reasons, versions, install
// scripts, licences and lock files.
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
  readonly resolved?: string;
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

/** The packages in the bundles of `dist/`, from the headings of their notices. */
const bundled = ["bin", "plugins/dashboard"].flatMap((folder) =>
  [
    ...read(`dist/${folder}/THIRD-PARTY-NOTICES.txt`).matchAll(/^-{80}\n\n(\S+) \S+ \((.+)\)$/gm),
  ].map(([, name = "", license = ""]) => ({ name, license })),
);

/** Licences that require only a notice from programs that use the package. */
const licences = new Set([
  ...["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0"],
  "OFL-1.1", // fonts
]);

describe("dependencies", () => {
  test("have one row each in docs/security.md, and no other rows exist", () => {
    const [, section = ""] = read("docs/security.md").split("## Dependencies\n");
    const listed = [...section.split("\n## ")[0]!.matchAll(/^\| `([^`]+)` +\|/gm)].map(
      ([, name]) => name,
    );
    const inBundles = bundled.map(({ name }) => name).filter((name) => name in devDependencies);
    const direct = new Set([...Object.keys(dependencies), ...inBundles]);
    expect(listed.sort()).toEqual([...direct].sort());
  });

  test("start their range at the tested version", () => {
    const tested = installed
      .filter(({ name }) => name in dependencies)
      .map(({ name, version }) => [name, `^${version}`]);
    expect(Object.fromEntries(tested)).toEqual(dependencies);
  });

  test("used only in development have exact versions", () => {
    const all = Object.entries(devDependencies);
    expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });

  test("run no scripts at installation", () => {
    expect(installed.filter(({ hasInstallScript }) => hasInstallScript)).toEqual([]);
  });

  test("have licences that require only a notice", () => {
    expect(bundled.length).toBeGreaterThan(30);
    const others = [...installed, ...bundled].filter(({ license = "" }) => !licences.has(license));
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

  test.each([
    "package-lock.json",
    "bench/package-lock.json",
    "scripts/reference/package-lock.json",
  ])("%s contains no download addresses", (lockFile) => {
    expect(lockedIn(lockFile).filter(({ link, resolved }) => !link && resolved)).toEqual([]);
    const settings = read(lockFile.replace("package-lock.json", ".npmrc"));
    expect(settings).toContain("omit-lockfile-registry-resolved=true");
  });
});
