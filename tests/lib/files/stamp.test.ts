import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fileStamp, cachedByStamp } from "../../../lib/files/watch.ts";
import { temporaryFolder } from "./support.ts";

describe("cachedByStamp", () => {
  test("returns a stamp only for files older than the clock tick", async () => {
    const path = join(temporaryFolder(), "a");
    expect(await fileStamp(path)).toBeUndefined();
    writeFileSync(path, "1");
    expect(await fileStamp(path)).toBeUndefined();
    const stamp = await fileStamp(process.execPath);
    expect(stamp).toMatch(/^(\d+ ){3}\d+$/);
    expect(await fileStamp(process.execPath)).toBe(stamp);
  });

  test("reads again after a change and after every failure", async () => {
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
    utimesSync(young, 1, 1); // The times of a copy prove nothing, because it was made now.
    expect([await read(young), await read(young)]).toEqual([3, 4]);
    expect(await read(process.execPath)).toBe(2);
  });
});
