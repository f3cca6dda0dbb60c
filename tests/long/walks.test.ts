// The files that requests enter.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test } from "vitest";
import { expectGolden } from "../golden/golden.ts";

const run = promisify(execFile);
const script = fileURLToPath(new URL("../../bench/walks.mjs", import.meta.url));

/** They mostly wait, so they run in parallel. */
const groups = [["sign-in", "message"], ["rotation"], ["settings", "append"]];

test("requests enter the files of the golden file", async () => {
  const results = await Promise.all(
    groups.map((names) => run(process.execPath, [script, ...names, "--json"])),
  );
  const walks = Object.assign({}, ...results.map(({ stdout }) => JSON.parse(stdout))) as object;
  await expectGolden("walks.json", `${JSON.stringify(walks, null, 2)}\n`);
});
