// Configures the run that writes screenshots.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** `npm run pictures`: writes the screenshots of the README and the documentation. */
export default defineConfig({
  test: {
    root: fileURLToPath(new URL("../..", import.meta.url)),
    include: ["tests/browser/pictures.ts", "tests/desktop/pictures.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
  },
});
