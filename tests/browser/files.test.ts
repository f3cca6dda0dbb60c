// Tests files in the chat: a real launcher, and the Python program of the documentation.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startLauncher, type RunningLauncher } from "../e2e/launcher.ts";
import { findTool } from "../support/tools.ts";
import { expectAccessible } from "./axe.ts";
import { hasBrowser, launchBrowser, skipWithoutBrowser } from "./browser.ts";
import { launcherToken, signIn } from "./chat-launcher.ts";

const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const program = path("examples/programs/read_pdf.py");
const MiB = 1024 * 1024;

let home: string;
let browser: Browser;
let launcher: RunningLauncher;
let context: BrowserContext;
const faults: string[] = [];
const python = findTool("python");

beforeEach(skipWithoutBrowser);
beforeEach(({ skip }) => skip(!python, "needs python3"));
beforeAll(async () => {
  if (!hasBrowser || !python) return;
  home = await mkdtemp(join(tmpdir(), "doorward-files-"));
  await mkdir(join(home, "home"), { mode: 0o700 });
  const config = {
    channels: { pico: { enabled: true } },
    handler: { command: [python, program] },
    media: { max_file_mb: 8, max_session_mb: 4 },
  };
  await writeFile(join(home, "home", "config.json"), JSON.stringify(config), { mode: 0o600 });
  const env = {
    SERVICE_HOME: join(home, "home"),
    SERVICE_LAUNCHER_TOKEN: launcherToken,
    SERVICE_CHANNELS_PICO_TOKEN: "another-horse-battery-staple-0123456789-abc",
  };
  [browser, launcher] = await Promise.all([launchBrowser(), startLauncher({ env })]);
  context = await signIn(browser, launcher.base, { reducedMotion: "reduce" });
});
afterEach(() => {
  if (faults.length > 0) throw new Error(faults.splice(0).join("\n"));
});
afterAll(async () => {
  await browser?.close();
  await launcher?.[Symbol.asyncDispose]();
  if (home) await rm(home, { recursive: true, force: true });
});

async function open(session: string): Promise<Page> {
  const page = await context.newPage();
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => {
    if (/Content Security Policy/.test(message.text())) faults.push(message.text());
  });
  await page.goto(new URL(`/chat/${session}`, launcher.base).href);
  await page.getByText("Connected", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Attach files" }).waitFor();
  return page;
}

const field = (page: Page) => page.getByLabel("Message", { exact: true });
const send = (page: Page) => page.getByRole("button", { name: "Send", exact: true }).click();
const chip = (page: Page, name: string) => page.locator(".box").getByRole("group", { name });
const attach = (page: Page, name: string, buffer: Buffer, mimeType = "text/plain") =>
  page.locator("input[type=file]").setInputFiles({ name, mimeType, buffer });

const pdf = Buffer.from(
  "%PDF-1.4\n1 0 obj <</Type /Pages /Count 2>> endobj\n" +
    "2 0 obj <</Type /Page>> endobj\n3 0 obj <</Type /Page>> endobj\n%%EOF\n",
);

/** Drops files on the messages. */
const drop = (page: Page, name: string, type: string, base64: string): Promise<void> =>
  page.evaluate(
    ([file, kind, text]) => {
      const bytes = Uint8Array.from(atob(text!), (character) => character.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], file!, { type: kind! }));
      const options = { bubbles: true, cancelable: true, dataTransfer: data };
      const target = document.querySelector(".log")!;
      target.dispatchEvent(new DragEvent("dragover", options));
      target.dispatchEvent(new DragEvent("drop", options));
    },
    [name, type, base64],
  );

/** Lets the page upload 64 KiB a second. */
async function slowDown(page: Page): Promise<{ end(): Promise<unknown> }> {
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  const limit = (uploadThroughput: number) =>
    network.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput,
    });
  await limit(64 * 1024);
  return { end: () => limit(-1) };
}

/** Names of the files that the server has for a session. */
async function storedNames(page: Page, session: string): Promise<string[]> {
  const response = await page.request.get(
    new URL(`/api/media?session=${session}`, launcher.base).href,
  );
  const { files } = (await response.json()) as { files: { filename: string }[] };
  return files.map(({ filename }) => filename);
}

describe("Files in the chat", () => {
  test("sends a PDF that a Python program reads", async () => {
    const page = await open("pdf");
    await attach(page, "notes.pdf", pdf, "application/pdf");
    await chip(page, "notes.pdf").getByText(`${pdf.length} B`, { exact: true }).waitFor();
    await field(page).fill("How many pages?");
    await page.keyboard.press("Enter");
    await page.locator(".log").getByText("2 pages", { exact: true }).waitFor();
    await page.reload();
    await page.getByText("Connected", { exact: true }).waitFor();
    const own = page.locator(".msg.mine");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      own.getByRole("link", { name: "Download notes.pdf" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("notes.pdf");
    expect((await readFile(await download.path())).equals(pdf)).toBe(true);
    await page.getByRole("button", { name: "Files of this conversation" }).click();
    const dialog = page.getByRole("dialog", { name: "Files of this conversation" });
    await dialog.getByRole("link", { name: "Download notes.pdf" }).waitFor();
    await expectAccessible(page);
    await page.close();
  });

  test("previews a dropped image, and shows it in a viewer", async () => {
    const page = await open("image");
    // Smaller images are a part of the message that programs receive.
    const png = await readFile(path("docs/images/overview-light.png"));
    const image = Buffer.concat([png, Buffer.alloc(256 * 1024)]);
    await drop(page, "overview.png", "image/png", image.toString("base64"));
    await page.getByAltText("Preview of overview.png").waitFor();
    await send(page);
    const own = page.locator(".msg.mine");
    const width = () =>
      own
        .getByAltText("overview.png")
        .evaluate((element: HTMLImageElement) => element.naturalWidth);
    await expect.poll(width).toBe(1280);
    await own.getByRole("button", { name: "overview.png" }).click();
    const viewer = page.getByRole("dialog", { name: "overview.png" });
    await viewer.getByRole("button", { name: "Show actual size" }).click();
    await viewer.getByRole("button", { name: "Fit the window" }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await viewer.waitFor({ state: "detached" });
    await page.close();
  });

  test("continues a cut upload where it was", async () => {
    const page = await open("cut");
    const begins: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "PATCH") begins.push(request.headers()["upload-offset"] ?? "");
    });
    await page.route(
      "**/api/media/m_*",
      async (route) => {
        const sent = route.request().postDataBuffer()!;
        await route.fetch({ postData: sent.subarray(0, 1_500_000) });
        await route.abort("connectionreset");
      },
      { times: 1 },
    );
    await attach(page, "large.bin", Buffer.alloc(3 * MiB, 1), "application/octet-stream");
    await expect.poll(() => storedNames(page, "cut")).toEqual(["large.bin"]);
    expect(begins).toEqual(["0", "1500000"]);
    await page.close();
  });

  test("cancels an upload, and leaves nothing on the server", async () => {
    const page = await open("cancel");
    await slowDown(page);
    await attach(page, "large.bin", Buffer.alloc(3 * MiB, 1), "application/octet-stream");
    await chip(page, "large.bin").getByText("% of 3 MiB").waitFor();
    await field(page).fill("wait for it");
    await page.keyboard.press("Enter");
    await page.getByText("The message is sent when the upload is complete.").waitFor();
    await page.getByRole("button", { name: "Don't send yet" }).click();
    await page.getByRole("button", { name: "Cancel upload of large.bin" }).click();
    await chip(page, "large.bin").waitFor({ state: "detached" });
    await expect.poll(() => field(page).inputValue()).toBe("wait for it");
    await expect.poll(() => storedNames(page, "cancel")).toEqual([]);
    await page.close();
  });

  test("sends nothing when an edit ends before its upload", async () => {
    const page = await open("edit");
    await field(page).fill("first");
    await send(page);
    const edit = page.getByRole("button", { name: "Edit and send again" });
    await edit.waitFor();
    await field(page).fill("not sent yet");
    await edit.click();
    const slow = await slowDown(page);
    await attach(page, "slow.bin", Buffer.alloc(MiB, 1), "application/octet-stream");
    await page.keyboard.press("Enter");
    await page.getByText("The message is sent when the upload is complete.").waitFor();
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await expect.poll(() => field(page).inputValue()).toBe("not sent yet");
    await slow.end();
    await expect.poll(() => storedNames(page, "edit")).toEqual(["slow.bin"]);
    await expect.poll(() => field(page).inputValue()).toBe("not sent yet");
    await field(page).fill("last");
    await send(page);
    const own = page.locator(".msg.mine .bubble");
    await own.getByText("last", { exact: true }).waitFor();
    await expect.poll(() => own.allTextContents()).toEqual(["first", "last"]);
    await page.close();
  });

  test("explains rejected and interrupted uploads at the file", async () => {
    const page = await open("limits");
    await attach(page, "too-large.bin", Buffer.alloc(9 * MiB), "application/octet-stream");
    await page.getByText("too-large.bin is larger than 8 MiB, the limit of the server.").waitFor();
    await attach(page, "full.bin", Buffer.alloc(5 * MiB), "application/octet-stream");
    await chip(page, "full.bin").getByText("There is no room for the file").waitFor();
    await field(page).fill("kept");
    await page.keyboard.press("Enter");
    await page.getByText("The message waits: full.bin is not uploaded.").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Remove full.bin" }).click();
    await context.setOffline(true);
    await attach(page, "later.txt", Buffer.from("later"));
    await chip(page, "later.txt").getByText("The connection ended during the upload.").waitFor();
    await context.setOffline(false);
    await page.getByRole("button", { name: "Upload later.txt again" }).click();
    await chip(page, "later.txt").getByText("5 B", { exact: true }).waitFor();
    await page.reload();
    await chip(page, "later.txt").getByText("5 B", { exact: true }).waitFor();
    await send(page);
    await page.locator(".log").getByText("0 pages", { exact: true }).waitFor();
    expect(await storedNames(page, "limits")).toEqual(["later.txt"]);
    await page.close();
  });

  test("attaches a long pasted text as a file on request", async () => {
    const page = await open("paste");
    const text = "A line of a log\n".repeat(600);
    await field(page).fill(`${text}What is this?`);
    await field(page).evaluate((element, pasted) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", pasted);
      element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
    }, text);
    await page.getByRole("button", { name: "Attach as file" }).click();
    await expect.poll(() => field(page).inputValue()).toBe("What is this?");
    await chip(page, "pasted.txt").waitFor();
    await send(page);
    const own = page.locator(".msg.mine");
    await own.getByRole("button", { name: "pasted.txt" }).click();
    const viewer = page.getByRole("dialog", { name: "pasted.txt" });
    await viewer.getByText("A line of a log").first().waitFor();
    await page.close();
  });
});
