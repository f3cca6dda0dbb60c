import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, test } from "vitest";
import { root } from "./source.ts";

/* Limits how many files a reader must follow from a request to its response. A change may lower
 * these numbers and must not raise them. `npm run walks -- sign-in` lists the files. */

const budget = [
  ["sign-in", 23],
  ["message", 30],
  ["rotation", 48],
  ["settings", 37],
] as const;

const run = promisify(execFile);

describe("walk budget", () => {
  test.concurrent.for(budget)(
    "enters no more files: %s, %i",
    async ([name, maximum], { expect }) => {
      const script = join(root, "bench", "walks.mjs");
      const { stdout } = await run(process.execPath, [script, name, "--json"]);
      const files = (JSON.parse(stdout) as Record<string, string[]>)[name]!;
      expect(files).not.toEqual([]);
      expect(files.length, `entered files:\n${files.join("\n")}`).toBeLessThanOrEqual(maximum);
    },
  );
});
