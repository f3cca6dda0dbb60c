import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";

describe("doorward/client in browsers", () => {
  test("stays near 12 kB, minified and compressed", async () => {
    const { outputFiles } = await build({
      entryPoints: [fileURLToPath(new URL("../../../lib/pico-link/browser.ts", import.meta.url))],
      bundle: true,
      minify: true,
      format: "esm",
      platform: "browser",
      target: "es2022",
      write: false,
    });
    const { length } = gzipSync(outputFiles[0]!.contents, { level: 9 });
    console.log(`bytes of the client: ${length}`);
    // The documents say "about 12 kB". Only an accident fails.
    expect(length).toBeLessThan(15_000);
  });
});
