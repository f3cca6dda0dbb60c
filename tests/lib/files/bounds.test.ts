import { once } from "node:events";
import { createServer } from "node:net";
import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readJson, readYaml } from "../../../lib/files/index.ts";
import { codeOf } from "../../../kernel/index.ts";
import { temporaryFolder } from "./support.ts";

const readers = [
  ["JSON", readJson],
  ["YAML", readYaml],
] as const;
const errorOf = (reading: Promise<unknown>) =>
  reading.then(
    () => ({ code: "read", message: "" }),
    (error: Error) => ({ code: codeOf(error), message: error.message }),
  );

describe.each(readers)("reading %s files", (_, read) => {
  test("rejects a link to an endless device", async () => {
    const path = join(temporaryFolder(), "a");
    symlinkSync("/dev/zero", path);
    expect(await errorOf(read(path))).toEqual({
      code: "FILE_UNREADABLE",
      message: `${path} cannot be read: it is not a regular file.`,
    });
  });

  test("rejects a pipe without waiting for a writer", async () => {
    const path = join(temporaryFolder(), "a");
    execFileSync("mkfifo", [path]);
    expect((await errorOf(read(path))).code).toBe("FILE_UNREADABLE");
  });

  test("rejects a socket as not a regular file", async () => {
    const path = join(temporaryFolder(), "a");
    const server = createServer().listen(path);
    await once(server, "listening");
    expect((await errorOf(read(path))).message).toContain("it is not a regular file");
    server.close();
  });

  test("rejects a folder", async () => {
    expect((await errorOf(read(temporaryFolder()))).code).toBe("FILE_UNREADABLE");
  });

  test("reads 1 MiB and rejects one byte more", async () => {
    const path = join(temporaryFolder(), "a");
    const lead = '{"a": 1}';
    writeFileSync(path, lead + " ".repeat(1024 * 1024 - lead.length));
    expect((await read(path))?.value).toEqual({ a: 1 });
    writeFileSync(path, lead + " ".repeat(1024 * 1024 - lead.length + 1));
    expect((await errorOf(read(path))).code).toBe("FILE_TOO_LARGE");
  });

  test.each(["[", "{", '{"a":', "[{", "- ", "? - ", "? : "])(
    "rejects a megabyte of %s with its position",
    async (part) => {
      const path = join(temporaryFolder(), "a");
      writeFileSync(path, part.repeat(1_000_000 / part.length));
      const { code, message } = await errorOf(read(path));
      expect(code).toBe("FILE_CORRUPT");
      expect(message).toMatch(
        /line 1, column \d+: expected brackets and dashes at most 100 levels deep\./,
      );
    },
  );

  test("accepts one hundred levels", async () => {
    const path = join(temporaryFolder(), "a");
    writeFileSync(path, `${'{"a": '.repeat(100)}1${"}".repeat(100)}`);
    expect((await read(path))?.value).toHaveProperty("a");
  });
});
