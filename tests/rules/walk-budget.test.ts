import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { root } from "./source.ts";

/* Limits how many files a reader must follow from a request to its response. A change may lower
 * these numbers and must not raise them. `npm run walks -- sign-in` lists the files. */

const budget = [
  ["sign-in", 23],
  ["message", 30],
  ["rotation", 48],
  ["settings", 37],
] as const;

let entered: Readonly<Record<string, readonly string[]>>;

beforeAll(async () => {
  const script = join(root, "bench", "walks.mjs");
  const names = budget.map(([name]) => name);
  const walks = promisify(execFile)(process.execPath, [script, ...names, "--json"]);
  entered = JSON.parse((await walks).stdout) as typeof entered;
});

describe("walk budget", () => {
  test.each(budget)("enters no more files: %s, %i", (name, maximum) => {
    const files = entered[name]!;
    expect(files).not.toEqual([]);
    expect(files.length, `entered files:\n${files.join("\n")}`).toBeLessThanOrEqual(maximum);
  });
});
