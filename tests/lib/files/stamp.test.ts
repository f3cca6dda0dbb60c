import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fileStamp, cachedByStamp } from "../../../lib/files/watch.ts";
import { temporaryFolder } from "./support.ts";

test("a file has a stamp once it is old enough to tell another one by it; a missing one has none", async () => {
  const path = join(temporaryFolder(), "a");
  expect(await fileStamp(path)).toBeUndefined();
  writeFileSync(path, "1");
  expect(await fileStamp(path)).toBeUndefined();
  const stamp = await fileStamp(process.execPath);
  expect(stamp).toMatch(/^(\d+ ){3}\d+$/);
  expect(await fileStamp(process.execPath)).toBe(stamp);
});

test("a file is read again unless it is the same as before, and after every failure", async () => {
  const reads: string[] = [];
  const read = cachedByStamp(async (path: string) => {
    reads.push(path);
    if (reads.length === 1) throw new Error("not now");
    return reads.length;
  });
  await expect(read(process.execPath)).rejects.toThrow("not now");
  expect([await read(process.execPath), await read(process.execPath)]).toEqual([2, 2]);
  const young = join(temporaryFolder(), "a");
  writeFileSync(young, "1");
  utimesSync(young, 1, 1); // what a copy keeps says nothing: it was made now
  expect([await read(young), await read(young)]).toEqual([3, 4]);
  expect(await read(process.execPath)).toBe(2);
});
