// Compiles every `@example` of the sources, as one program, against the built package.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, describe, test } from "vitest";
import { filesUnder, read, root } from "../rules/source.ts";

const run = promisify(execFile);

/** Values that only the reader of an example has, so that examples need not declare them. */
const given = `
declare const token: string;
declare const home: string;
declare function openBrowser(url: URL): Promise<boolean>;
declare function udp(): import("doorward").Plugin;
declare function connectPeer(): Promise<import("doorward/testing").Peer>;
`;
const compilerOptions = {
  noEmit: true,
  rootDir: ".",
  lib: ["es2023", "es2024.string", "esnext.disposable", "dom"],
  noUnusedLocals: false,
};

interface Example {
  /** Path of the source file. */
  readonly path: string;
  readonly code: string;
}

/** Returns the text of each `@example` tag, up to the next tag or the end of its comment. */
function examplesIn(path: string, text: string): Example[] {
  return [...text.matchAll(/\/\*\*[^]*?\*\//g)].flatMap(([comment]) => {
    const lines = comment.replace(/\s*\*\/$/, "").split("\n");
    const content = lines.map((line) => line.replace(/^\s*(?:\/\*)?\* ?/, "")).join("\n");
    const [, ...parts] = content.split(/^@example\b/m);
    return parts.map((part) => ({ path, code: part.replace(/^@[^]*/m, "").trim() }));
  });
}

const sources = filesUnder(["kernel", "lib", "plugins", "config", "testkit"], /\.ts$/);
const examples = sources.flatMap((path) => examplesIn(path, read(path)));

/** Returns the output of the compiler. File names are those of the sources with a number. */
async function compile(all: readonly Example[]): Promise<string> {
  // A folder inside the package, so that `doorward/…` resolves to this package.
  await mkdir(join(root, "dist"), { recursive: true });
  const folder = await mkdtemp(join(root, "dist", "doc-examples-"));
  try {
    const config = { extends: "../../tsconfig.json", compilerOptions, include: ["."], exclude: [] };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    await writeFile(join(folder, "given.d.ts"), given);
    for (const [index, { path, code }] of all.entries()) {
      const name = `${path.replaceAll("/", "-").replace(/\.ts$/, "")}-${index + 1}.ts`;
      await writeFile(join(folder, name), `${code}\nexport {};\n`);
    }
    const typescript = createRequire(import.meta.url).resolve("typescript/package.json");
    const args = [join(dirname(typescript), "bin", "tsc"), "-p", folder, "--pretty", "false"];
    await run(process.execPath, args, { cwd: folder });
    return "";
  } catch (error) {
    const { stdout } = error as { stdout?: string };
    if (!stdout) throw error;
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const entryPoints = Object.entries(
  (JSON.parse(read("package.json")) as { exports: Record<string, string | { types: string }> })
    .exports,
).flatMap(([subpath, target]) =>
  typeof target === "string"
    ? []
    : [[`doorward${subpath.slice(1)}`, target.types.replace(/^\.\/dist\//, "")] as const],
);

describe("doc examples", () => {
  test("compile against the built package", { timeout: 60_000 }, async () => {
    expect(examples.length).toBeGreaterThan(20);
    expect(await compile(examples)).toBe("");
  });

  test.each(entryPoints)("show how to import %s", (specifier, file) => {
    const own = examples.filter(({ path }) => dirname(path) === dirname(file));
    expect(own.filter(({ code }) => code.includes(`from "${specifier}"`))).not.toEqual([]);
  });

  test("end at the next tag", () => {
    const comment = "/**\n * A.\n * @example\n * one();\n *   two();\n * @throws b\n */\n";
    expect(examplesIn("a.ts", comment)).toEqual([{ path: "a.ts", code: "one();\n  two();" }]);
  });

  test("fail to compile with a mistake", { timeout: 60_000 }, async () => {
    const code = 'import { createKernel } from "doorward";\ncreateKernel(1);';
    expect(await compile([{ path: "kernel/a.ts", code }])).toMatch(
      /^kernel-a-1\.ts\(2,14\): error/,
    );
  });
});
