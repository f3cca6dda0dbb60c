import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { withTokenFile } from "../../../config/presets/token-file.ts";
import { memory } from "../../../plugins/token-store/index.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "doorward-token-file-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const token = "t".repeat(43);
const read = async (path: string, pipeMs?: number): Promise<unknown> =>
  withTokenFile(memory({}), { name: "pico", path, ...(pipeMs && { pipeMs }) }).resolve("pico");

describe.skipIf(process.platform === "win32")("withTokenFile", () => {
  test("reads a pipe that another process opens later", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const found = read(pipe);
    await writeFile(pipe, `${token}\n`);
    expect(await found).toMatchObject({ value: token });
  });

  test("does not wait for a pipe that no process writes to", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    await expect(read(pipe, 100)).rejects.toMatchObject({
      code: "TOKEN_FILE_UNREADABLE",
      message: expect.stringContaining("it is empty") as string,
    });
  });

  test("says in words that a path is a folder", async () => {
    const path = join(folder, "folder");
    mkdirSync(path);
    await expect(read(path)).rejects.toThrow("it is a folder");
  });
});
