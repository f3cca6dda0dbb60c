import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  watch,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { spawnLauncher, startLauncher } from "../e2e/launcher.ts";

const args = ["-console", "-no-browser", "-port", "0"];

/** Kills a launcher with SIGKILL after `steps` changes in its home, or when it has started. */
async function startAndKill(home: string, steps: number): Promise<void> {
  await using launcher = await spawnLauncher({ args, env: { SERVICE_HOME: home } });
  let seen = 0;
  const watcher = watch(home, () => {
    seen += 1;
    if (seen >= steps) launcher.child.kill("SIGKILL");
  });
  launcher.child.stdout?.once("data", () => launcher.child.kill("SIGKILL"));
  await launcher.ended;
  watcher.close();
}

/**
 * Reads the token that a killed first start stored. Fails if the file is incomplete.
 *
 * @returns The token, or undefined if there is none.
 */
function tokenIn(home: string): string | undefined {
  const file = join(home, "launcher-config.json");
  if (!existsSync(file)) return undefined;
  const stored: Record<string, unknown> = JSON.parse(readFileSync(file, "utf8"));
  expect(stored["launcher_token"] ?? "none").toMatch(/^([\w-]{43}|none)$/);
  return stored["launcher_token"] as string | undefined;
}

test("recovers from a first start killed at any step", async () => {
  const root = mkdtempSync(join(tmpdir(), "doorward-killed-"));
  try {
    for (let kill = 0; kill < 20; kill++) {
      const home = join(root, String(kill), ".service");
      mkdirSync(home, { recursive: true, mode: 0o700 });
      await startAndKill(home, 1 + kill);
      const before = tokenIn(home);
      await using next = await startLauncher({ args, env: { SERVICE_HOME: home } });
      expect(next.token).toBe(before ?? tokenIn(home));
      expect(readdirSync(home).filter((name) => name.includes("tmp-"))).toEqual([]);
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
