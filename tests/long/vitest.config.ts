import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** What takes long or loads the machine: three files side by side, since they wait more than they work, and the killed
 *  writers of the other suite far oftener. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["tests/long/**/*.test.ts", "tests/config/files/atomic.test.ts"],
    testTimeout: 240_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    pool: "forks",
    maxWorkers: 3,
    env: { KILLS: "200" },
  },
});
