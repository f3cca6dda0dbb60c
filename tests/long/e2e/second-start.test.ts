// Tests the compile cache between starts.
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, afterAll, beforeAll, expect, test, vi } from "vitest";
import { startLauncher, type RunningLauncher } from "../../e2e/launcher.ts";

/** Tests that the first start caches compiled code and that later starts load it. */

const seconds = 1_000;
let home: string;
let kept: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "doorward-second-"));
  kept = join(home, "cache", "program");
});
afterAll(() => rm(home, { recursive: true, force: true }));

const start = (): Promise<RunningLauncher> => startLauncher({ env: { SERVICE_HOME: home } });

async function answersAndStops(launcher: RunningLauncher): Promise<void> {
  expect((await fetch(new URL("/healthz", launcher.base))).status).toBe(200);
  expect((await fetch(launcher.link)).status).toBe(200);
  launcher.child.kill("SIGTERM");
  expect(await launcher.ended).toEqual({ code: 0, signal: null });
  expect(launcher.stderr()).not.toMatch(/"level":(?:40|50|60)|Warning/);
}

describe("Compile cache", () => {
  test(
    "speeds up later starts and replaces damaged entries",
    async () => {
      {
        await using first = await start();
        await vi.waitFor(() => stat(kept), 30 * seconds);
        await answersAndStops(first);
      }
      {
        await using second = await start();
        await answersAndStops(second);
      }
      await writeFile(kept, "spoiled");
      await using third = await start();
      await vi.waitFor(
        async () => expect((await stat(kept)).size).toBeGreaterThan(100_000),
        30 * seconds,
      );
      await answersAndStops(third);
    },
    90 * seconds,
  );
});
