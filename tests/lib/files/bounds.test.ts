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
const refusal = (reading: Promise<unknown>) =>
  reading.then(
    () => ({ code: "read", message: "" }),
    (error: Error) => ({ code: codeOf(error), message: error.message }),
  );

describe.each(readers)("a file of %s that is no file of ours", (_, read) => {
  test("a link to a device without an end is refused at once", async () => {
    const path = join(temporaryFolder(), "a");
    symlinkSync("/dev/zero", path);
    expect(await refusal(read(path))).toEqual({
      code: "FILE_UNREADABLE",
      message: `${path} cannot be read: it is not a regular file.`,
    });
  });

  test("a pipe that nobody writes to is refused, and not waited for", async () => {
    const path = join(temporaryFolder(), "a");
    execFileSync("mkfifo", [path]);
    expect((await refusal(read(path))).code).toBe("FILE_UNREADABLE");
  });

  test("a socket is refused, and said to be no file", async () => {
    const path = join(temporaryFolder(), "a");
    const server = createServer().listen(path);
    await once(server, "listening");
    expect((await refusal(read(path))).message).toContain("it is not a regular file");
    server.close();
  });

  test("a folder is refused", async () => {
    expect((await refusal(read(temporaryFolder()))).code).toBe("FILE_UNREADABLE");
  });

  test("1 MiB is read, a byte more is too large", async () => {
    const path = join(temporaryFolder(), "a");
    const lead = '{"a": 1}';
    writeFileSync(path, lead + " ".repeat(1024 * 1024 - lead.length));
    expect((await read(path))?.value).toEqual({ a: 1 });
    writeFileSync(path, lead + " ".repeat(1024 * 1024 - lead.length + 1));
    expect((await refusal(read(path))).code).toBe("FILE_TOO_LARGE");
  });

  test.each(["[", "{", '{"a":', "[{", "- ", "? - ", "? : "])(
    "a megabyte of %s is corrupt, with its place",
    async (part) => {
      const path = join(temporaryFolder(), "a");
      writeFileSync(path, part.repeat(1_000_000 / part.length));
      const { code, message } = await refusal(read(path));
      expect(code).toBe("FILE_CORRUPT");
      expect(message).toMatch(
        /line 1, column \d+: expected brackets and dashes at most 100 levels deep\./,
      );
    },
  );

  test("a hundred levels are fine", async () => {
    const path = join(temporaryFolder(), "a");
    writeFileSync(path, `${'{"a": '.repeat(100)}1${"}".repeat(100)}`);
    expect((await read(path))?.value).toHaveProperty("a");
  });
});
