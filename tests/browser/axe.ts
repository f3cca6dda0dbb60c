import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const wcag = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"];

/** Expects no violation of WCAG 2.2 AA on the page as it is. Its context must let scripts in that the policy does not:
 *  `bypassCSP`. @axe-core/playwright does the same for pages with frames, of which there are none, and takes five times
 *  as long. */
export async function expectAccessible(page: Page): Promise<void> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const violations = await page.evaluate(async (tags) => {
    const { run } = (globalThis as unknown as { axe: typeof axe }).axe;
    const found = await run(document, { runOnly: tags, resultTypes: ["violations"] });
    return found.violations.map(({ id, nodes }) => [id, ...nodes.map((node) => node.html)]);
  }, wcag);
  expect(violations).toEqual([]);
}
