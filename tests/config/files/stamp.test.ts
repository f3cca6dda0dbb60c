import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stampOf } from "../../../config/files/index.ts";
import { temporaryFolder } from "./support.ts";

test("a file has a stamp once it is old enough to tell another one by it; a missing one has none", async () => {
  const path = join(temporaryFolder(), "a");
  expect(await stampOf(path)).toBeUndefined();
  writeFileSync(path, "1");
  expect(await stampOf(path)).toBeUndefined();
  const stamp = await stampOf(process.execPath);
  expect(stamp).toMatch(/^(\d+ ){3}\d+$/);
  expect(await stampOf(process.execPath)).toBe(stamp);
});
