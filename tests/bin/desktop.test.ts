import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openBrowser } from "../../bin/desktop.ts";

test("openBrowser returns false if the browser cannot be started", async () => {
  const folder = await mkdtemp(join(tmpdir(), "doorward-desktop-"));
  await writeFile(join(folder, "file"), "");
  for (const browser of [
    join(folder, "nothing"),
    join(folder, "file", "below"),
    join(folder, "file"),
    "x".repeat(5_000),
  ]) {
    expect(await openBrowser(new URL("http://127.0.0.1/"), { BROWSER: browser }, "linux")).toBe(
      false,
    );
  }
  await rm(folder, { recursive: true });
});
