// Starts the launcher with plugins by other authors that fail.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startLauncher } from "./launcher.ts";

test("names failed plugins and their reasons at the terminal", async () => {
  const home = await mkdtemp(join(tmpdir(), "doorward-failed-"));
  const start = 'start() { throw new Error("the broker \\u001b[31mrejected the password"); }';
  try {
    await writeFile(join(home, "odd.mjs"), `export default { name: "odd", api: 1, ${start} };`);
    const plugins = ["./odd.mjs", "./missing.mjs"];
    await writeFile(join(home, "config.json"), JSON.stringify({ plugins }));
    const args = ["-no-browser", "-no-tray", "-port", "0"];
    await using launcher = await startLauncher({ args, env: { SERVICE_HOME: home } });
    const rows = launcher.stdout().match(/^ {2}Plugin .*$/gm) ?? [];
    expect(rows).toEqual([
      expect.stringMatching(/odd failed: The plugin "odd" cannot start: the broker .*password/),
      expect.stringContaining("./missing.mjs failed: "),
    ]);
    expect(launcher.stdout()).not.toContain("\u001b");
  } finally {
    await rm(home, { recursive: true, force: true });
  }
});
