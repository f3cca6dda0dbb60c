// Compares every page in both themes with stored screenshots of 32 x 20 cells, each the mean colour
// of its part of the page. Fonts and rendering hardly change them: the packaged browser differs in
// 2.5 % of the cells. They show a missing style sheet, a missing or moved card and a wrong theme,
// but no wrong icon, word or small distance. UPDATE_SCREENSHOTS=1 stores new ones.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { useDashboard } from "../browser/dashboard-pages.ts";

const dashboard = useDashboard();
const folder = fileURLToPath(new URL("screenshots/", import.meta.url));
const isUpdate = process.env["UPDATE_SCREENSHOTS"] === "1";
const grid = { columns: 32, rows: 20 };
const sizes = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } };
/** Difference of a colour, of 255, from which on a cell counts as changed. */
const maxDifference = 20;
/** Part of the cells that may change, for example because a line breaks elsewhere. */
const maxChanged = 0.05;

const pages: Readonly<Record<string, string>> = {
  overview: "/overview-program",
  chat: "/chat",
  clients: "/clients",
  connections: "/clients/connections",
  security: "/security",
  settings: "/settings",
  activity: "/activity",
  doctor: "/doctor",
  docs: "/docs/client",
};

/** Colours of the cells: red, green and blue of each, row by row. */
type Cells = readonly number[];

/** Opens a page in its final state, in a context that may read its own screenshots. */
function openPage(
  path: string,
  options: { readonly size: keyof typeof sizes; readonly colorScheme: "light" | "dark" },
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const { size, colorScheme } = options;
  const context = { viewport: sizes[size], colorScheme, reducedMotion: "reduce" } as const;
  return dashboard.open(path, { ...context, bypassCSP: true }, async (page) => {
    await page.locator("html[data-ready]").waitFor();
    await page.locator('.live[data-state="live"]').first().waitFor({ state: "attached" });
    await page.locator(".skeletons").waitFor({ state: "detached" });
    await use(page);
  });
}

/** Reads a screenshot as cells. */
function cellsOf(page: Page, png: Buffer): Promise<Cells> {
  return page.evaluate(
    async ([data, { columns, rows }]) => {
      const image = new Image();
      image.src = `data:image/png;base64,${data}`;
      await image.decode();
      const { naturalWidth: width, naturalHeight: height } = image;
      const canvas = new OffscreenCanvas(width, height).getContext("2d")!;
      canvas.drawImage(image, 0, 0);
      const pixels = canvas.getImageData(0, 0, width, height).data;
      const sums = new Float64Array(columns * rows * 3);
      const counts = new Float64Array(columns * rows);
      for (let y = 0; y < height; y += 1)
        for (let x = 0; x < width; x += 1) {
          const row = Math.floor((y * rows) / height);
          const cell = row * columns + Math.floor((x * columns) / width);
          counts[cell]! += 1;
          for (const part of [0, 1, 2])
            sums[cell * 3 + part]! += pixels[(y * width + x) * 4 + part]!;
        }
      return Array.from(sums, (sum, at) => Math.round(sum / counts[Math.floor(at / 3)]!));
    },
    [png.toString("base64"), grid] as const,
  );
}

/** Draws cells as a screenshot with one pixel each. */
async function screenshotOf(page: Page, cells: Cells): Promise<Buffer> {
  const data = await page.evaluate(
    ([colours, { columns, rows }]) => {
      const canvas = document.createElement("canvas");
      Object.assign(canvas, { width: columns, height: rows });
      const opaque = Array.from({ length: columns * rows }, (_, cell) => [
        ...colours.slice(cell * 3, cell * 3 + 3),
        255,
      ]);
      const pixels = new ImageData(new Uint8ClampedArray(opaque.flat()), columns, rows);
      canvas.getContext("2d")!.putImageData(pixels, 0, 0);
      return canvas.toDataURL("image/png").split(",")[1]!;
    },
    [cells, grid] as const,
  );
  return Buffer.from(data, "base64");
}

/** @returns Part of the cells that differ. */
function changedPart(one: Cells, other: Cells): number {
  const cells = grid.columns * grid.rows;
  const changed = Array.from({ length: cells }, (_, cell) =>
    [0, 1, 2].some(
      (part) => Math.abs(one[cell * 3 + part]! - other[cell * 3 + part]!) > maxDifference,
    ),
  );
  return changed.filter(Boolean).length / cells;
}

/** Compares a page with its stored screenshot. */
async function changeOf(page: Page, name: string): Promise<number> {
  const shown = await cellsOf(page, await page.screenshot());
  const file = `${folder}${name}.png`;
  if (isUpdate) writeFileSync(file, await screenshotOf(page, shown));
  if (!existsSync(file)) throw new Error(`${file} is missing. Run with UPDATE_SCREENSHOTS=1.`);
  return changedPart(shown, await cellsOf(page, readFileSync(file)));
}

const themes = ["light", "dark"] as const;
const cases = Object.entries(pages).flatMap(([name, path]) =>
  themes.flatMap((colorScheme) =>
    (["desktop", "phone"] as const).map((size) => ({ name, path, colorScheme, size })),
  ),
);

test.each(cases)("$name looks as stored, $colorScheme on $size", async (one) => {
  const { name, path, colorScheme, size } = one;
  await openPage(path, one, async (page) => {
    expect(await changeOf(page, `${name}-${size}-${colorScheme}`)).toBeLessThan(maxChanged);
  });
});

describe.skipIf(isUpdate)("comparison", () => {
  const defects: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
    "a missing style sheet": (page) =>
      page.evaluate(() => document.querySelector('link[href$="overview.css"]')!.remove()),
    "a missing card": (page) => page.evaluate(() => document.querySelector(".hero")!.remove()),
    "the other theme": (page) => page.emulateMedia({ colorScheme: "dark" }),
    "a mirrored page": (page) => page.evaluate(() => (document.documentElement.dir = "rtl")),
    "a heading that pushes the page down": (page) =>
      page.evaluate(() => {
        document.querySelector<HTMLElement>(".page-head")!.style.paddingTop = "60px";
      }),
  };
  test.each(Object.keys(defects))("finds %s", async (defect) => {
    await openPage("/overview-program", { size: "desktop", colorScheme: "light" }, async (page) => {
      await defects[defect]!(page);
      expect(await changeOf(page, "overview-desktop-light")).toBeGreaterThan(maxChanged * 1.5);
    });
  });
});
