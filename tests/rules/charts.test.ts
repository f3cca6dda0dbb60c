import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (...names: string[]): string => readFileSync(path.join(root, ...names), "utf8");

describe("charts of docs/performance.md", () => {
  test("show the committed results, as the tables of the page do", async () => {
    const charts = path.join(root, "bench", "charts.mjs");
    await promisify(execFile)(process.execPath, [charts, "--check"]);
  });

  test.each(["performance-rates.svg", "performance-latency.svg"])(
    "%s has a description, dark colours and no script",
    (name) => {
      const svg = read("docs", "images", name);
      expect(svg).toMatch(/<title>.+<\/title>\n<desc>.*Doorward, extension.*<\/desc>/);
      expect(svg).toContain("prefers-color-scheme:dark");
      expect(svg).not.toMatch(/<script|href|url\(/);
      expect(read("docs", "performance.md")).toContain(`/docs/images/${name})`);
    },
  );
});
