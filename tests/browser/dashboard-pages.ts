// Opens pages of a test site in a browser.
import type { Browser, BrowserContextOptions, Page, Route } from "playwright-core";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "./browser.ts";
import { sampleAnswers } from "./sample-api.ts";
import { running } from "./sample.ts";
import { startSite, type SentRequest, type TestSite } from "./site.ts";

type UsePage = (page: Page) => Promise<void>;

interface OpenPage {
  readonly page: Page;
  /** Script errors and rejections of the content policy so far. */
  readonly faults: readonly string[];
}

export interface DashboardPages {
  readonly site: TestSite;
  /** Opens a page. Fails on a script error or a rejection. */
  open(path: string, options: BrowserContextOptions, use: UsePage): Promise<void>;
  /** Opens a page and waits until it shows "Live". Fails on a script error. */
  openLive(path: string, use: UsePage, options?: BrowserContextOptions): Promise<void>;
  /** Opens a page, or continues on the one that a `keep` just before left open, whatever its path.
   *  `open` closes it, and so does a failure: a second attempt has a new page. Fails on a script error. */
  keep(path: string, options: BrowserContextOptions, use: UsePage): Promise<void>;
  /** Does the same, and waits until the page shows "Live". */
  keepLive(path: string, use: UsePage): Promise<void>;
  /** Returns the parsed bodies of requests to `path`. */
  bodies(path: string): Record<string, unknown>[];
}

/** A message of the browser that the content policy has rejected something. */
const rejection = /Content Security Policy|'Trusted(?:HTML|Script|ScriptURL)'/;

/** Starts one site and one browser for the tests of a file, and resets responses before each. */
export function useDashboard(): DashboardPages {
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
  const newPage = async (path: string, options: BrowserContextOptions): Promise<OpenPage> => {
    const context = await browser.newContext(options);
    try {
      const page = await context.newPage();
      const faults: string[] = [];
      page.on("pageerror", (error) => faults.push(String(error)));
      page.on("console", (message) => {
        if (rejection.test(message.text())) faults.push(message.text());
      });
      await page.goto(site.origin + path);
      return { page, faults };
    } catch (error) {
      await context.close();
      throw error;
    }
  };
  let kept: OpenPage | undefined;
  const closeKept = async (): Promise<void> => {
    const page = kept?.page;
    kept = undefined;
    await page?.context().close();
  };
  const open: DashboardPages["open"] = async (path, options, use) => {
    await closeKept();
    const { page, faults } = await newPage(path, options);
    try {
      await use(page);
    } finally {
      await page.context().close();
    }
    assertNoFaults(faults);
  };
  const keep: DashboardPages["keep"] = async (path, options, use) => {
    kept ??= await newPage(path, options);
    const { page, faults } = kept;
    try {
      await use(page);
      assertNoFaults(faults);
    } catch (error) {
      await closeKept();
      throw error;
    }
  };
  return {
    get site() {
      return site;
    },
    bodies: (path) => site.sent.filter((request) => request.path === path).map(bodyOf),
    open,
    keep,
    openLive: (path, use, options = {}) => open(path, options, onceLive(use)),
    keepLive: (path, use) => keep(path, {}, onceLive(use)),
  };
}

/** Holds the requests to an address that follow, until the test answers them. */
export async function hold(page: Page, address: string | RegExp): Promise<readonly Route[]> {
  const held: Route[] = [];
  await page.route(address, (route) => void held.push(route));
  return held;
}

const onceLive =
  (use: UsePage): UsePage =>
  async (page) => {
    await page.getByText("Live", { exact: true }).waitFor();
    await use(page);
  };

function assertNoFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(faults.join("\n"));
}

function bodyOf({ body }: SentRequest): Record<string, unknown> {
  return JSON.parse(body) as Record<string, unknown>;
}
