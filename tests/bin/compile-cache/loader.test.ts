import { mkdtemp, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ScriptLoader } from "../../../bin/compile-cache/loader.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "doorward-program-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Writes a file in the format of scripts/bundle.mjs. */
const put = (name: string, body: string): Promise<void> =>
  writeFile(
    join(folder, name),
    `(function (exports, module, require, __unit, __load, __foreign, __url) {"use strict";${body}})\n`,
  );
const program = (): ScriptLoader => new ScriptLoader(pathToFileURL(`${folder}/`));
interface Two {
  two(): number;
}

describe("ScriptLoader", () => {
  test("runs each file once with other files, Node modules and its URL", async () => {
    await put(
      "main.cjs",
      `
      module.exports = { other: __unit("./other.cjs"), again: __unit("./other.cjs"), later: () => __load("./other.cjs"),
        join: require("node:path").join, url: __url };`,
    );
    await put("other.cjs", "exports.started = Symbol();");
    const main = program().unit("./main.cjs") as {
      other: object;
      again: object;
      later(): Promise<object>;
      join: unknown;
      url: string;
    };
    expect(main.again).toBe(main.other);
    expect(await main.later()).toBe(main.other);
    expect(main.join).toBe(join);
    expect(main.url).toBe(pathToFileURL(join(folder, "main.cjs")).href);
  });

  test("imports foreign modules by their URL", async () => {
    await writeFile(join(folder, "plugin.mjs"), "export const name = 'theirs';");
    await put("main.cjs", "exports.plugin = __foreign;");
    const main = program().unit("./main.cjs") as {
      plugin(address: string): Promise<{ name: string }>;
    };
    expect((await main.plugin(pathToFileURL(join(folder, "plugin.mjs")).href)).name).toBe("theirs");
  });

  test("names the file and the line in errors", async () => {
    await put("main.cjs", `\n\nthrow new Error("no");`);
    const error = (() => {
      try {
        return program().unit("./main.cjs");
      } catch (thrown) {
        return thrown as Error;
      }
    })() as Error;
    expect(error.stack).toContain(`${join(folder, "main.cjs")}:3:`);
  });

  test("rejects the dynamic import of a missing file", async () => {
    await put("main.cjs", "exports.later = () => __load('./absent.cjs');");
    const main = program().unit("./main.cjs") as { later(): Promise<object> };
    await expect(main.later()).rejects.toThrow(/ENOENT.*absent\.cjs/);
  });
});

describe("ScriptLoader.compiled", () => {
  test("serves the next start, which compiles nothing", async () => {
    await put("main.cjs", "exports.two = () => 2;");
    const first = program();
    first.use(new Map());
    expect((first.unit("./main.cjs") as Two).two()).toBe(2);
    const compiled = first.compiled()!;
    expect([...compiled.keys()]).toEqual(["./main.cjs"]);

    const next = program();
    next.use(compiled);
    expect((next.unit("./main.cjs") as Two).two()).toBe(2);
    expect(next.compiled()).toBeUndefined();
  });

  test("contains only files loaded after use", async () => {
    await put("early.cjs", "");
    await put("late.cjs", "");
    const one = program();
    one.unit("./early.cjs");
    one.use(new Map());
    expect(one.compiled()).toBeUndefined();
    one.unit("./late.cjs");
    expect([...one.compiled()!.keys()]).toEqual(["./late.cjs"]);
  });

  test("ignores code of an edited file with an unchanged modification time", async () => {
    await put("main.cjs", "exports.two = () => 2;");
    const first = program();
    first.unit("./main.cjs");
    const compiled = first.compiled()!;
    const { atimeMs, mtimeMs } = await stat(join(folder, "main.cjs"));
    await put("main.cjs", "exports.two = () => 3;");
    await utimes(join(folder, "main.cjs"), atimeMs / 1_000, mtimeMs / 1_000);

    const next = program();
    next.use(compiled);
    expect((next.unit("./main.cjs") as Two).two()).toBe(3);
    expect(next.compiled()).toBeDefined();
  });

  test("ignores code that V8 rejects", async () => {
    await put("main.cjs", "exports.two = () => 2;");
    const source = crc32(await readFile(join(folder, "main.cjs")));
    const next = program();
    next.use(new Map([["./main.cjs", { source, data: new Uint8Array(100) }]]));
    expect((next.unit("./main.cjs") as Two).two()).toBe(2);
    expect(next.compiled()).toBeDefined();
  });
});
