import { execFile } from "node:child_process";
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { writeCache, readCache } from "../../../bin/compile-cache/cache.ts";

let home: string;
let file: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "doorward-kept-"));
  file = join(home, "cache", "program");
});
afterEach(() => rm(home, { recursive: true, force: true }));

const files = new Map([["./a.cjs", { source: 17, data: Uint8Array.of(1, 2, 3) }]]);
const compiled = (): typeof files => files;

describe("compile cache", () => {
  test("returns the stored code and allows only the owner", async () => {
    await writeCache(home, {}, compiled);
    const [[name, { source, data }] = ["", { source: 0, data: [] }]] = await readCache(home, {});
    expect({ name, source, data: [...data] }).toEqual({
      name: "./a.cjs",
      source: 17,
      data: [1, 2, 3],
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(home, "cache"))).mode & 0o777).toBe(0o700);
  });

  test("returns nothing if no cache exists", async () => {
    expect(await readCache(home, {})).toEqual(new Map());
  });

  test.each([
    ["the file", () => chmod(file, 0o620)],
    ["its folder", () => chmod(join(home, "cache"), 0o702)],
    ["the home", () => chmod(home, 0o777)],
  ])("ignores the cache if others can write to %s", async (_, open) => {
    await writeCache(home, {}, compiled);
    await open();
    expect(await readCache(home, {})).toEqual(new Map());
  });

  test("rejects writing to a home that others can write to", async () => {
    await chmod(home, 0o777);
    await expect(writeCache(home, {}, compiled)).rejects.toMatchObject({
      code: "FILE_WRITABLE_BY_OTHERS",
    });
    expect(await readdir(join(home, "cache"))).toEqual([]);
  });

  test("writes no file if no code is new", async () => {
    await writeCache(home, {}, compiled);
    const before = await stat(file);
    await writeCache(home, {}, () => undefined);
    expect(await stat(file)).toEqual(before);
  });

  test("ignores a named pipe at its path without waiting", async () => {
    await mkdir(join(home, "cache"), { mode: 0o700 });
    await promisify(execFile)("mkfifo", ["-m", "600", file]);
    expect(await readCache(home, {})).toEqual(new Map());
  });

  test.each([
    [
      "a bit differs",
      async () => {
        const bytes = await readFile(file);
        bytes[bytes.length - 1]! ^= 1;
        await writeFile(file, bytes);
      },
    ],
    ["its end is missing", async () => truncate(file, (await stat(file)).size - 1)],
    ["it is empty", () => truncate(file, 0)],
  ])("ignores the cache if %s", async (_, spoil) => {
    await writeCache(home, {}, compiled);
    await spoil();
    expect(await readCache(home, {})).toEqual(new Map());
  });

  test.each(["node", "v8"])(
    "ignores the cache of another %s version with the same V8 tag",
    async (part) => {
      await writeCache(home, {}, compiled);
      const bytes = await readFile(file);
      const version = process.versions[part]!;
      bytes.write("9".repeat(version.length), bytes.indexOf(version));
      bytes.writeUInt32BE(crc32(bytes.subarray(4)));
      await writeFile(file, bytes);
      expect(await readCache(home, {})).toEqual(new Map());
    },
  );

  test("neither writes nor reads with NODE_DISABLE_COMPILE_CACHE", async () => {
    const env = { NODE_DISABLE_COMPILE_CACHE: "1" };
    await writeCache(home, env, compiled);
    expect(await readdir(home)).toEqual([]);
    await writeCache(home, {}, compiled);
    expect(await readCache(home, env)).toEqual(new Map());
  });
});
