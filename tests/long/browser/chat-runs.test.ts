// Tests running answers on chat pages of a real launcher with a program.
import type { AddressInfo } from "node:net";
import type { Response } from "playwright-core";
import { describe, expect, test } from "vitest";
import {
  connected,
  ends,
  enterToken,
  growing,
  launcherToken,
  rows,
  useChat,
  stopButton,
  write,
} from "../../browser/chat-launcher.ts";
import { startPlainProxy, startRelay } from "../../browser/networks.ts";

const chat = useChat();
const open: typeof chat.open = (...of) => chat.open(...of);
const say: typeof chat.say = (...of) => chat.say(...of);
const post: typeof chat.post = (...of) => chat.post(...of);
const end = (exit: number): Promise<void> => chat.end(exit);

describe("Running answer", () => {
  test("stays known after a reload and on a second page", async () => {
    const first = await open("joins");
    await write(first, "What is new?");
    await say("joins", "What is new?", growing("a", "First"));
    await expect.poll(() => rows(first)).toEqual(["> What is new?", "First | Writing…"]);
    await first.reload();
    const second = await open("joins");
    for (const page of [first, second]) {
      await expect.poll(() => rows(page)).toEqual(["> What is new?", "First | Writing…"]);
      await stopButton(page).waitFor();
    }
    await say("joins", "What is new?", ["message.append", { message_id: "a", content: " second" }]);
    for (const page of [first, second])
      await expect.poll(() => rows(page)).toEqual(["> What is new?", "First second | Writing…"]);
    await stopButton(second).click();
    for (const page of [first, second]) {
      await expect.poll(() => rows(page)).toEqual(["> What is new?", "First second | Stopped"]);
      await stopButton(page).waitFor({ state: "detached" });
      await expect.poll(() => page.locator(".failed, .failure").count()).toBe(0);
    }
    await first.close();
    await second.close();
  });

  test("shows work without text on a page that joins", async () => {
    const first = await open("tools");
    await write(first, "Count them");
    await say("tools", "Count them", ["message.ack", {}]);
    await first.getByText("Sent", { exact: true }).waitFor();
    const second = await open("tools");
    await expect.poll(() => rows(second)).toEqual(["> Count them", "Thinking…"]);
    await stopButton(second).waitFor();
    const tool_calls = [{ id: "c", function: { name: "count", arguments: "{}" } }];
    const call = { message_id: "t", kind: "tool_calls", content: "", tool_calls };
    await say("tools", "Count them", ["message.create", call]);
    const third = await open("tools");
    for (const page of [first, second, third]) {
      await page.getByText(/^Running count…/).waitFor();
      await stopButton(page).waitFor();
    }
    await say("tools", "Count them", ["message.create", { content: "Twelve" }]);
    for (const page of [first, second, third]) {
      await expect.poll(() => rows(page)).toEqual(["> Count them", "Twelve"]);
      await stopButton(page).waitFor({ state: "detached" });
      await page.close();
    }
  });

  test("keeps its place for other clients and after a lost connection", async () => {
    const relay = await startRelay(chat.launcher.base);
    const base = new URL(`http://127.0.0.1:${relay.port}`);
    const inside = await chat.signedIn(base);
    const page = await open("others", base, inside);
    void post("others", "From elsewhere");
    await say("others", "From elsewhere", growing("a", "One"));
    await expect.poll(() => rows(page)).toEqual(["> From elsewhere", "One | Writing…"]);
    relay.cut();
    await page.getByText("Waiting for connection…", { exact: true }).waitFor();
    await write(page, "Later");
    await expect
      .poll(() => rows(page))
      .toEqual(["> From elsewhere", "One | Waiting for connection…", "> Later"]);
    await say("others", "From elsewhere", ends("a", "One two"));
    const answered = post("others", "And then?");
    await say("others", "And then?", ["message.create", { content: "Three" }]);
    await answered;
    relay.resume();
    await connected(page);
    const before = ["> From elsewhere", "One two", "> And then?", "Three"];
    await expect.poll(() => rows(page)).toEqual([...before, "> Later", "Thinking…"]);
    await say("others", "Later", ["message.create", { content: "Four" }]);
    await expect.poll(() => rows(page)).toEqual([...before, "> Later", "Four"]);
    await page.reload();
    await expect.poll(() => rows(page)).toEqual([...before, "> Later", "Four"]);
    await inside.close();
    await relay.close();
  });
});

describe("State of a turn", () => {
  test("shows an error of the program once, in the answer", async () => {
    const first = await open("errors");
    const second = await open("errors");
    await write(first, "Do it");
    await first.getByText("Sending…", { exact: true }).waitFor();
    await say("errors", "Do it", ["typing.start", {}]);
    await first.getByText("Sent", { exact: true }).waitFor();
    await say("errors", "Do it", ["error", { message: "The model is overloaded." }]);
    const failed = ["> Do it", "The model is overloaded."];
    await expect.poll(() => rows(first)).toEqual(failed);
    await first.getByText("Sent", { exact: true }).waitFor();
    await expect.poll(() => first.getByText(/application_refused|Not delivered/).count()).toBe(0);
    await expect.poll(() => first.getByText("The model is overloaded.").count()).toBe(1);
    await first.getByRole("button", { name: "Try again" }).click();
    await say("errors", "Do it", ["message.ack", {}], growing("a", "Half"));
    for (const page of [first, second])
      await expect.poll(() => rows(page)).toEqual(["> Do it", "Half | Writing…"]);
    await say("errors", "Do it", ["error", { message: "The disk is full." }]);
    await expect.poll(() => rows(first)).toEqual(["> Do it", "Half | The disk is full."]);
    await expect.poll(() => rows(second)).toEqual(["> Do it", "Half | The disk is full."]);
    await first.close();
    await second.close();
  });

  test("turns grey after a stop before the first line", async () => {
    const page = await open("stops");
    await write(page, "One");
    await expect.poll(() => rows(page)).toEqual(["> One", "Thinking…"]);
    await write(page, "Two");
    await page.keyboard.press("Escape");
    await expect.poll(() => rows(page)).toEqual(["> One", "Stopped", "> Two", "Stopped"]);
    await expect.poll(() => page.locator(".failed, .failure").count()).toBe(0);
    await expect.poll(() => page.getByText("Not delivered").count()).toBe(0);
    await stopButton(page).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Ask again" }).last().click();
    await say("stops", "Two", ["message.create", { content: "Done" }]);
    await expect.poll(() => rows(page)).toEqual(["> One", "Stopped", "> Two", "Done"]);
    await page.close();
  });

  test("waits while the program does not run", async () => {
    const page = await open("down");
    await write(page, "First");
    await say("down", "First", ["message.ack", {}]);
    await expect.poll(() => rows(page)).toEqual(["> First", "Thinking…"]);
    // Messages fail after some seconds without a program, so the page has the next one ready.
    const field = page.getByLabel("Message", { exact: true });
    await field.fill("Second");
    await end(3);
    await field.press("Enter");
    await page.getByText("Waiting for the application…", { exact: true }).waitFor();
    await chat.allowStart();
    await page.getByText(/^The program ended \(exit code 3\)/).waitFor();
    await page.getByText(/^Thinking…/).waitFor();
    await say("down", "Second", ["message.create", { content: "Back" }]);
    await page.getByText("Back", { exact: true }).waitFor();
    await page.close();
  });
});

const isUnauthorized = (response: Response): boolean =>
  response.url().endsWith("/api/status") && response.status() === 401;

describe("Connection of the chat", () => {
  test("returns immediately after signing in again in the dialog", async () => {
    const relay = await startRelay(chat.launcher.base);
    const base = new URL(`http://127.0.0.1:${relay.port}`);
    const inside = await chat.signedIn(base);
    const page = await open("again", base, inside);
    relay.cut();
    await page.getByText(/^Connection lost\./).waitFor();
    await fetch(new URL("/api/sessions", chat.launcher.base), {
      method: "DELETE",
      headers: { authorization: `Bearer ${launcherToken}` },
    });
    let attempts = 0;
    page.on("response", (response) => (attempts += Number(isUnauthorized(response))));
    relay.resume();
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    // After two attempts without a sign-in, the link waits for five minutes.
    await expect.poll(() => attempts).toBeGreaterThan(2);
    await enterToken(page);
    const began = Date.now();
    await connected(page);
    expect(Date.now() - began).toBeLessThan(5_000);
    await inside.close();
    await relay.close();
    await chat.renew();
  });

  test("uses event streams and POST behind a proxy without Upgrade", async () => {
    const proxy = await startPlainProxy(chat.launcher.base);
    const base = new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    const inside = await chat.signedIn(base);
    const page = await open("plain", base, inside);
    const elsewhere = await open("plain");
    await write(page, "Are you there?");
    await say("plain", "Are you there?", ["message.ack", {}], growing("a", "I am"));
    for (const one of [page, elsewhere])
      await expect.poll(() => rows(one)).toEqual(["> Are you there?", "I am | Writing…"]);
    await page.getByText("Sent", { exact: true }).waitFor();
    await write(elsewhere, "And I?");
    await say("plain", "And I?", ["message.create", { content: "You too" }]);
    const rest = ["> And I?", "You too"];
    await expect.poll(() => rows(page)).toEqual(["> Are you there?", "I am | Writing…", ...rest]);
    await page.reload();
    await expect.poll(() => rows(page)).toEqual(["> Are you there?", "I am | Writing…", ...rest]);
    await stopButton(page).click();
    await expect.poll(() => rows(page)).toEqual(["> Are you there?", "I am | Stopped", ...rest]);
    await write(page, "Fail");
    await say("plain", "Fail", ["error", { message: "Not today." }]);
    await page.getByText("Not today.", { exact: true }).waitFor();
    await expect.poll(() => page.getByText("Not delivered").count()).toBe(0);
    proxy.closeAllConnections();
    await connected(page);
    await write(page, "Still here?");
    await say("plain", "Still here?", ["message.create", { content: "Yes" }]);
    await page.getByText("Yes", { exact: true }).waitFor();
    await inside.close();
    await elsewhere.close();
    proxy.closeAllConnections();
    await new Promise((done) => proxy.close(done));
  });
});
