import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** What takes long or loads the machine: one file after the other, and the killed writers of the other suite four times. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["tests/long/**/*.test.ts", "tests/config/files/atomic.test.ts"],
    testTimeout: 240_000,
    hookTimeout: 60_000,
    pool: "forks",
    fileParallelism: false,
    env: { KILLS: "200" },
  },
});
