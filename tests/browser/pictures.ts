import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, it } from "vitest";
import type { Browser } from "playwright-core";
import { WebSocket } from "ws";
import { enablePico, finishSetup, startLauncher, type RunningLauncher } from "../walks/launcher.ts";
import { launchBrowser } from "./browser.ts";

const folder = fileURLToPath(new URL("../../docs/pictures/", import.meta.url));
let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
  await mkdir(folder, { recursive: true });
});
afterAll(() => browser.close());

/** Clients that talk, so that the pages have something to show. Ends with them connected. */
async function traffic({ base }: RunningLauncher, token: string): Promise<WebSocket[]> {
  return Promise.all(
    ["kitchen", "laptop", "garden"].map(async (session, at) => {
      const socket = new WebSocket(new URL(`/pico?session_id=${session}`, base), [`token.${token}`]);
      await new Promise((open, failed) => socket.once("open", open).once("error", failed));
      for (let sent = 0; sent < 6 + at * 5; sent++) {
        const answered = new Promise((done) => socket.once("message", done));
        socket.send(JSON.stringify({ type: "message.send", payload: { content: `message ${sent}` } }));
        await answered;
      }
      return socket;
    }),
  );
}

it("shows the sign-in page, the setup page and the overview in both themes", async () => {
  await using launcher = await startLauncher({ args: ["-console", "-port", "18800"] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, deviceScaleFactor: 1 });
  const page = await context.newPage();
  const shoot = async (name: string): Promise<void> => {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.screenshot({ path: `${folder}${name}-${colorScheme}.png` });
    }
  };
  await page.goto(launcher.link.href);
  await page.getByRole("button", { name: "Finish setup" }).waitFor();
  await shoot("setup");
  const cookie = await finishSetup(launcher);
  const sockets = await traffic(launcher, await enablePico(launcher, cookie));
  await page.goto(launcher.base.href);
  await page.getByLabel("Launcher token", { exact: true }).waitFor();
  await shoot("sign-in");
  await page.getByLabel("Launcher token", { exact: true }).fill(launcher.token!);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("3 of 100").waitFor();
  await shoot("overview");
  for (const socket of sockets) socket.close();
});
