// Writes the screenshots of the README and the documentation.
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, it } from "vitest";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { WebSocket } from "ws";
import { enablePico, finishSetup, startLauncher, type RunningLauncher } from "../e2e/launcher.ts";
import { launchBrowser } from "./browser.ts";
import { connection } from "./sample-api.ts";
import { startSite } from "./site.ts";

const folder = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const program = fileURLToPath(new URL("home-agent.mjs", import.meta.url));
const phone = { width: 390, height: 844 };
let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser([], "complete");
  await mkdir(folder, { recursive: true });
});
afterAll(() => browser.close());

/** Clients by session, with their messages. */
const clients = [
  { session: "hall", agent: "doorward-client/0.1.0 (Linux)", says: ["Turn off the lights"] },
  { session: "garden", agent: "esp32-garden/1.4", says: ["Do the roses need water?"] },
  {
    session: "kitchen",
    agent: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    says: ["Add coffee to the shopping list", "And remind me at 18:00"],
  },
];

/** Connects clients and sends their messages. They stay connected. */
function connectClients({ base }: RunningLauncher, token: string): Promise<WebSocket[]> {
  return Promise.all(
    clients.map(async ({ session, agent, says }) => {
      const socket = new WebSocket(
        new URL(`/pico?session_id=${session}`, base),
        [`token.${token}`],
        { headers: { "user-agent": agent } },
      );
      await new Promise((open, failed) => socket.once("open", open).once("error", failed));
      for (const content of says) {
        const answered = new Promise<void>((done) =>
          socket.on("message", (data) => {
            if (String(data).includes('"message.create"')) done();
          }),
        );
        socket.send(JSON.stringify({ type: "message.send", payload: { content } }));
        await answered;
      }
      return socket;
    }),
  );
}

const newContext = (): Promise<BrowserContext> =>
  browser.newContext({ viewport: { width: 1280, height: 860 }, locale: "en-GB" });

/** Writes screenshots of a page in both themes. */
async function shoot(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.screenshot({ path: `${folder}${name}-${colorScheme}.png` });
  }
}

/** Lets the doctor name the usual home instead of the temporary folder. */
async function showUsualHome(page: Page, { home }: RunningLauncher): Promise<void> {
  await page.route("**/api/doctor", async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replaceAll(home, "~/.service");
    await route.fulfill({ response, body });
  });
}

/** Lets the settings name a usual program instead of the one of this file. */
async function showUsualProgram(page: Page): Promise<void> {
  await page.route(/\/(?:settings|api\/(?:status|settings))$/, async (route) => {
    const response = await route.fetch();
    const body = (await response.text())
      .replaceAll(process.execPath, "python3")
      .replaceAll(program, "home_agent.py");
    await route.fulfill({ response, body });
  });
}

/** Waits until the page shows current data. Phones have no rail with the text "Live". */
async function open(page: Page, address: URL | string): Promise<void> {
  await page.goto(String(address));
  await page.getByText("Live", { exact: true }).first().waitFor({ state: "attached" });
}

it("shows the pages of a launcher with a program", async () => {
  const args = ["run", "-console", "-port", "18800", "--", process.execPath, program];
  await using launcher = await startLauncher({ args });
  const context = await newContext();
  const page = await context.newPage();
  const visit = (path: string): Promise<void> => open(page, new URL(path, launcher.base));
  await page.goto(launcher.link.href);
  await page.getByRole("button", { name: "Finish setup" }).waitFor();
  await shoot(page, "setup");
  const cookie = await finishSetup(launcher);
  const sockets = await connectClients(launcher, await enablePico(launcher, cookie));
  await page.goto(launcher.base.href);
  await page.getByLabel("Launcher token", { exact: true }).waitFor();
  await shoot(page, "sign-in");
  await page.getByLabel("Launcher token", { exact: true }).fill(launcher.token!);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/chat");

  await visit("/chat/home");
  const field = page.getByRole("textbox", { name: "Message" });
  await field.fill("It is sunny. Should the blinds stay closed this morning?");
  await field.press("Enter");
  await page.locator(".hljs-keyword").first().waitFor();
  await page.getByText("1 thought, 2 tool calls", { exact: true }).click();
  await page.getByLabel("Conversations", { exact: true }).getByText("It is sunny").waitFor();
  await field.focus();
  await page.mouse.move(0, 0);
  await shoot(page, "chat");

  await visit("/clients");
  await page.getByRole("button", { name: "Try every way" }).click();
  await page
    .getByText(/^Works/)
    .first()
    .waitFor();
  await page.evaluate(() => scrollTo(0, 0));
  await shoot(page, "clients");
  await showUsualHome(page, launcher);
  await showUsualProgram(page);
  for (const name of ["activity", "settings", "doctor"]) {
    await visit(`/${name}`);
    if (name === "doctor")
      await page
        .getByText(/\d+ checks/)
        .first()
        .waitFor();
    await shoot(page, name);
  }
  await page.setViewportSize(phone);
  await visit("/chat/home");
  await page.getByText("Shall I switch it on?").last().waitFor();
  await shoot(page, "chat-phone");
  for (const socket of sockets) socket.close();
});

// A launcher that has just started has no figures, so these pages have sample data.
it("shows the pages with the figures of a busy day", async () => {
  await using site = await startSite("");
  const connections = [3, 2, 1].map(connection);
  site.views.set("GET /api/connections", { total: 3, connections });
  const page = await (await newContext()).newPage();
  for (const [path, name] of [
    ["/overview-on", "overview"],
    ["/security", "security"],
  ] as const) {
    await open(page, site.origin + path);
    for (const text of name === "overview" ? ["Too many wrong tokens", "Origin not allowed"] : []) {
      await page.getByLabel(`Dismiss: ${text}`).click();
    }
    await page.mouse.move(0, 0);
    await shoot(page, name);
  }
});

/** Finishes the setup and turns the channel on. */
async function signIn(launcher: RunningLauncher): Promise<Page> {
  const page = await (await newContext()).newPage();
  await page.goto(launcher.link.href);
  await enablePico(launcher, await finishSetup(launcher));
  await page.goto(launcher.base.href);
  await page.getByLabel("Launcher token", { exact: true }).fill(launcher.token!);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Live", { exact: true }).first().waitFor({ state: "attached" });
  return page;
}

it("shows questions of a program in Python", async () => {
  const asks = fileURLToPath(new URL("../../examples/ask.py", import.meta.url));
  const args = ["run", "-console", "-port", "18800", "--", "python3", asks];
  await using launcher = await startLauncher({ args });
  const page = await signIn(launcher);
  await open(page, new URL("/chat/home", launcher.base));
  const field = page.getByRole("textbox", { name: "Message" });
  for (const text of ["Free some space", "The release is out: free it now"]) {
    await field.fill(text);
    await field.press("Enter");
    await page.locator("[data-open-question]").waitFor();
    if (text.startsWith("The release")) break;
    await page.getByRole("button", { name: "More answers" }).click();
    await page.getByRole("menuitem", { name: "Deny with a reason…" }).click();
    await page.getByLabel("Reason").fill("Not before the release");
    await page.keyboard.press("Enter");
    await page.locator("article").getByText("Kept.").waitFor();
  }
  await page.getByLabel("Conversations", { exact: true }).getByText("Free some").waitFor();
  await page.mouse.move(0, 0);
  await shoot(page, "chat-questions");
});

it("shows files that a program in Python reads", async () => {
  const reader = fileURLToPath(new URL("../../examples/programs/read_pdf.py", import.meta.url));
  const args = ["run", "-console", "-port", "18800", "--", "python3", reader];
  await using launcher = await startLauncher({ args });
  const page = await signIn(launcher);
  await open(page, new URL("/chat/notes", launcher.base));
  await page.getByRole("button", { name: "Attach files" }).waitFor();
  const pages = "/Type /Page ".repeat(12);
  const notes = Buffer.from(`%PDF-1.7\n${pages}${" ".repeat(48_000)}`);
  await page.locator("input[type=file]").setInputFiles([
    { name: "notes.pdf", mimeType: "application/pdf", buffer: notes },
    {
      name: "overview.png",
      mimeType: "image/png",
      buffer: readFileSync(`${folder}overview-light.png`),
    },
  ]);
  const field = page.getByRole("textbox", { name: "Message" });
  await field.fill("How many pages are these notes?");
  await field.press("Enter");
  await page.locator(".log").getByText("12 pages", { exact: true }).waitFor();
  await page.locator(".msg.mine img").waitFor();
  await page.getByLabel("Conversations", { exact: true }).getByText("How many pages").waitFor();
  await page.mouse.move(0, 0);
  await shoot(page, "chat-files");
});
