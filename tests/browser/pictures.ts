// Writes the screenshots of the README and the documentation.
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, it } from "vitest";
import type { Browser, Page } from "playwright-core";
import { WebSocket } from "ws";
import { enablePico, finishSetup, startLauncher, type RunningLauncher } from "../e2e/launcher.ts";
import { launchBrowser } from "./browser.ts";

const folder = fileURLToPath(new URL("../../docs/images/", import.meta.url));
let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser([], "complete");
  await mkdir(folder, { recursive: true });
});
afterAll(() => browser.close());

/** Connects clients that send messages, so that the pages show data. They stay connected. */
async function traffic({ base }: RunningLauncher, token: string): Promise<WebSocket[]> {
  return Promise.all(
    ["kitchen", "laptop", "garden"].map(async (session, at) => {
      const socket = new WebSocket(new URL(`/pico?session_id=${session}`, base), [
        `token.${token}`,
      ]);
      await new Promise((open, failed) => socket.once("open", open).once("error", failed));
      for (let sent = 0; sent < 6 + at * 5; sent++) {
        const answered = new Promise((done) => socket.once("message", done));
        socket.send(
          JSON.stringify({ type: "message.send", payload: { content: `message ${sent}` } }),
        );
        await answered;
      }
      return socket;
    }),
  );
}

/** Frames that an application sends before its reply. */
const said = [
  [
    "message.create",
    { message_id: "t", kind: "thought", thought: true, content: "They ask about the weather." },
  ],
  [
    "message.create",
    { message_id: "c", kind: "tool_calls", content: "", tool_calls: [{ name: "weather" }] },
  ],
  [
    "message.create",
    {
      message_id: "a",
      content: "Sunny, 21 °C, with a light wind from the west.",
      model_name: "m1",
    },
  ],
] as const;

it("shows the pages in both themes, and the chat on a phone", async () => {
  await using launcher = await startLauncher({ args: ["-console", "-port", "18800"] });
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    deviceScaleFactor: 1,
  });
  const page = await context.newPage();
  const shoot = async (name: string): Promise<void> => {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.screenshot({ path: `${folder}${name}-${colorScheme}.png` });
    }
  };
  const open = async (path: string): Promise<void> => {
    await page.goto(new URL(path, launcher.base).href);
    await page.getByText("Live", { exact: true }).waitFor();
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

  await open("/clients");
  await page.getByRole("button", { name: "Try every way" }).click();
  await page
    .getByText(/^Works/)
    .first()
    .waitFor();
  await shoot("connect");
  await open("/clients/connections");
  await shoot("connections");
  for (const name of ["security", "settings", "activity"]) {
    await open(`/${name}`);
    await shoot(name);
  }
  await open("/doctor");
  await page.getByText(/\d+ checks/).waitFor();
  await shoot("doctor");
  await drawChat(page);
  await open("/chat#home");
  await page.getByText("Sunny, 21 °C").first().waitFor();
  await shoot("chat");
  await page.setViewportSize({ width: 390, height: 844 });
  await open("/chat#home");
  await page.getByText("Sunny, 21 °C").first().waitFor();
  await shoot("chat-phone");
  for (const socket of sockets) socket.close();
});

/** Simulates an application with thoughts and tool calls, since this launcher only echoes. */
async function drawChat(page: Page): Promise<void> {
  await page.routeWebSocket(/\/pico\?/, (socket) => {
    const say = (type: string, payload: object): void =>
      socket.send(JSON.stringify({ type, payload }));
    say("hello", {
      conn_id: "c",
      session_id: "home",
      epoch: "e",
      seq: 0,
      replay: 0,
      resumed: false,
      gap: false,
    });
    for (const [type, payload] of said) say(type, payload);
  });
}
