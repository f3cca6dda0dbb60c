// Tests the unpacking of the packaged browser.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { launchBrowser } from "../../browser/browser.ts";

const hasPackaged = process.platform === "linux" && process.arch === "x64";

test.skipIf(!hasPackaged)("launchBrowser keeps TMPDIR while it unpacks", async () => {
  const before = tmpdir();
  const home = await mkdtemp(join(before, "doorward-cache-"));
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await rm(home, { recursive: true, force: true });
  });
  vi.stubEnv("HOME", home);
  vi.stubEnv("TEST_BROWSER", "packaged");
  const starting = launchBrowser();
  expect(tmpdir()).toBe(before);
  const browser = await starting;
  await expect.poll(() => browser.newPage().then((page) => page.evaluate(() => 1 + 1))).toBe(2);
  await browser.close();
});
