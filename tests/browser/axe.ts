// Checks the accessibility of a page with axe.
import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const wcag = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"];

/**
 * Expects no violation of WCAG 2.2 AA in the current state of the page, whose motion must be
 * reduced. @axe-core/playwright also supports frames, which these pages do not have, and takes
 * five times as long.
 *
 * @param skipped - Rules of axe that do not apply.
 */
export async function expectAccessible(page: Page, skipped: string[] = []): Promise<void> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const violations = await page.evaluate(
    async ([tags, without]) => {
      const { run } = (globalThis as unknown as { axe: typeof axe }).axe;
      // Without selectors, which take a third of the time.
      const found = await run(document, {
        runOnly: tags!,
        rules: {
          "label-content-name-mismatch": { enabled: true },
          ...Object.fromEntries(without!.map((id) => [id, { enabled: false }])),
        },
        resultTypes: ["violations"],
        selectors: false,
        preload: false,
      });
      return found.violations.map(({ id, nodes }) => [id, ...nodes.map((node) => node.html)]);
    },
    [wcag, skipped],
  );
  expect(violations).toEqual([]);
}
