// Tests the overview while the server or a download is interrupted.
import { describe, test } from "vitest";
import { useDashboard } from "../../browser/dashboard-pages.ts";
import { running } from "../../browser/sample.ts";

const dashboard = useDashboard();
const wide = { viewport: { width: 1280, height: 900 } };

describe("Overview page", () => {
  test("reports a server that stops and resumes responding", async () => {
    dashboard.site.streams = false;
    await dashboard.openLive(
      "/overview-on",
      async (page) => {
        dashboard.site.status = undefined;
        await page.getByText("Reconnecting…").waitFor();
        dashboard.site.status = running;
        await page.getByText("Live", { exact: true }).waitFor();
      },
      wide,
    );
  });

  test("reports a menu that could not be loaded", async () => {
    await dashboard.open("/sign-in", wide, async (page) => {
      const files = "**/menu-list-*.js*";
      await page.route(files, (route) => route.abort());
      await page.goto(`${dashboard.site.origin}/overview-on`);
      await page.getByText("A part of the page could not be loaded.", { exact: true }).waitFor();
      await page.unroute(files);
      await page.getByRole("button", { name: "Reload the page" }).click();
      await page.getByText("Live", { exact: true }).waitFor();
      await page.getByRole("button", { name: "More about the channel" }).click();
      await page.getByRole("menuitem", { name: "Turn off…" }).waitFor();
    });
  });
});
