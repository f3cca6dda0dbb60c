import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "./browser.ts";
import { sampleAnswers } from "./sample-api.ts";
import { running } from "./sample.ts";
import { startSite, type SentRequest, type TestSite } from "./site.ts";

type See = (page: Page) => Promise<void>;

export interface Desk {
  readonly site: TestSite;
  /** Opens a page. Fails on an error of its scripts. */
  open(path: string, options: BrowserContextOptions, see: See): Promise<void>;
  /** Opens a page behind the door and waits until it is current. Fails on an error of its scripts. */
  look(path: string, see: See, options?: BrowserContextOptions): Promise<void>;
  /** What was sent to `path`, its bodies read. */
  bodies(path: string): Record<string, unknown>[];
}

/** One site and one browser for the tests of a file, fresh answers for each test. */
export function useDesk(): Desk {
  let browser: Browser;
  let site: TestSite;
  beforeEach(skipWithoutBrowser);
  beforeAll(async () => {
    if (!hasBrowser) return;
    [browser, site] = await Promise.all([launchBrowser(), startSite()]);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    site.sent.length = site.opened.length = 0;
    site.status = running;
    site.streams = true;
    site.answer = () => [200, {}];
    site.views.clear();
    for (const [request, view] of Object.entries(sampleAnswers)) site.views.set(request, view);
  });
  const open: Desk["open"] = async (path, options, see) => {
    const context = await browser.newContext(options);
    const faults: string[] = [];
    try {
      const page = await context.newPage();
      page.on("pageerror", (error) => faults.push(String(error)));
      await page.goto(site.origin + path);
      await see(page);
    } finally {
      await context.close();
    }
    if (faults.length > 0) throw new Error(faults.join("\n"));
  };
  return {
    get site() {
      return site;
    },
    bodies: (path) => site.sent.filter((request) => request.path === path).map(bodyOf),
    open,
    look: (path, see, options = {}) =>
      open(path, options, async (page) => {
        await page.getByText("Live", { exact: true }).waitFor();
        await see(page);
      }),
  };
}

function bodyOf({ body }: SentRequest): Record<string, unknown> {
  return JSON.parse(body) as Record<string, unknown>;
}
