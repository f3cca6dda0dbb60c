// Turns notifications on in a phone-sized Chromium, and answers from the notification. The push
// service is one of this machine, because this browser reaches none.
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "../../browser/axe.ts";
import { launchBrowser } from "../../browser/browser.ts";
import { startPush, type PushHarness } from "../../support/push-harness.ts";
import type { Arrived, Subscription } from "../../support/push-service.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser([], "complete");
});
afterAll(() => browser?.close());

/** Gives the page the subscription that a push service would give it. */
function subscribeHere({ endpoint, keys }: Subscription): void {
  let isOn = sessionStorage.getItem("subscribed") === "1";
  const subscription = {
    endpoint,
    toJSON: () => ({ endpoint, keys }),
    unsubscribe: () => {
      isOn = false;
      sessionStorage.removeItem("subscribed");
      return Promise.resolve(true);
    },
  } as unknown as PushSubscription;
  PushManager.prototype.subscribe = () => {
    isOn = true;
    sessionStorage.setItem("subscribed", "1");
    return Promise.resolve(subscription);
  };
  PushManager.prototype.getSubscription = () => Promise.resolve(isOn ? subscription : null);
}

interface Phone {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Lets the browser receive a message, as its push service would. */
  deliver(arrived: Arrived): Promise<void>;
}

/** Opens the sign-in link, which the phone has from the QR code. */
async function openPhone({ server, service }: PushHarness): Promise<Phone> {
  const context = await browser.newContext({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  });
  await context.grantPermissions(["notifications"], { origin: server.origin });
  const page = await context.newPage();
  await page.addInitScript(subscribeHere, service.subscribe());
  const cdp = await context.newCDPSession(page);
  let registrationId = "";
  cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
    registrationId = registrations.find(({ isDeleted }) => !isDeleted)?.registrationId ?? "";
  });
  await cdp.send("ServiceWorker.enable");
  const link = server.kernel.services.signInLinks.mint("/settings/notifications");
  await page.goto(server.origin + link.path);
  return {
    context,
    page,
    async deliver({ web_push, notification, d }) {
      await expect.poll(() => registrationId).not.toBe("");
      const data = JSON.stringify({ web_push, notification, d });
      const message = { origin: server.origin, registrationId, data };
      await within("the delivery", cdp.send("ServiceWorker.deliverPushMessage", message));
    },
  };
}

/** Real milliseconds. */
const patienceMs = 5_000;

/** @throws if the browser does not answer: it never does for a worker that has ended. */
async function within<T>(what: string, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} was not answered`)), patienceMs);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

/** Runs in the newest worker: the browser ends idle ones. */
async function inWorker<T>({ context }: Phone, run: (given: string) => T, given = ""): Promise<T> {
  const worker = context.serviceWorkers().at(-1);
  if (!worker) throw new Error("There is no worker.");
  return (await within("the worker", worker.evaluate(run, given))) as T;
}

const shown = (phone: Phone) =>
  inWorker(phone, async () => {
    const { registration } = globalThis as unknown as { registration: ServiceWorkerRegistration };
    return (await registration.getNotifications()).map(({ body }) => body);
  });

/** Presses a button of the only notification; without a name, the notification itself. */
const press = (phone: Phone, action: string) =>
  inWorker(
    phone,
    async (name) => {
      const scope = globalThis as unknown as {
        registration: ServiceWorkerRegistration;
        dispatchEvent(event: Event): void;
        NotificationEvent: new (type: string, init: object) => Event;
      };
      const [notification] = await scope.registration.getNotifications();
      const init = { notification, action: name };
      scope.dispatchEvent(new scope.NotificationEvent("notificationclick", init));
    },
    action,
  );

async function askAndReceive(harness: PushHarness, phone: Phone): Promise<Arrived> {
  // No page is in sight a minute after it was left.
  await phone.page.goto("about:blank");
  harness.server.clock.increment(61_000);
  const before = harness.service.arrived.length;
  await harness.send("delete");
  await harness.open(1);
  // The page may say that it was in sight after the clock was moved.
  return harness.notified(before + 1);
}

describe("notifications on a phone", () => {
  test("lead from the sign-in link to an answer in two taps", async () => {
    await using harness = await startPush();
    const phone = await openPhone(harness);
    const { page } = phone;
    await page.getByRole("button", { name: "Turn on" }).tap();
    await page.getByRole("heading", { name: "Notifications are on for this device" }).waitFor();
    await page.getByRole("button", { name: "Send a test", exact: true }).tap();
    await page.getByText("Sent. It appears in a moment.").waitFor();
    expect(harness.service.arrived.map(({ notification }) => notification.body)).toEqual([
      "Doorward can reach you",
    ]);
    const arrived = await askAndReceive(harness, phone);
    await phone.deliver(arrived);
    await expect.poll(() => shown(phone)).toEqual(["A question is waiting"]);
    // First tap: Chromium opens the page only for a real one.
    await page.goto(arrived.notification.navigate);
    await page.getByRole("link", { name: "Open the conversation" }).waitFor();
    // Second tap.
    await page.getByRole("button", { name: "Allow", exact: true }).tap();
    await expect
      .poll(() => harness.outcomes)
      .toMatchObject([{ outcome: "answered", effect: "allow", via: "ask" }]);
    await phone.context.close();
  });

  test("answer by a button, without a cookie, and say so", async () => {
    await using harness = await startPush();
    const phone = await openPhone(harness);
    await phone.page.getByRole("button", { name: "Turn on" }).tap();
    await phone.page.getByText("Notifications are on for this device").waitFor();
    await phone.deliver(await askAndReceive(harness, phone));
    await expect.poll(() => shown(phone)).toEqual(["A question is waiting"]);
    await press(phone, "deny");
    await expect.poll(() => shown(phone)).toEqual(["Denied"]);
    expect(harness.outcomes).toMatchObject([{ effect: "deny", via: "push" }]);
    await expect.poll(() => inWorker(phone, () => caches.keys())).toEqual([]);
    await phone.context.close();
  });

  test("turn off here, and are gone on the server", async () => {
    await using harness = await startPush();
    const phone = await openPhone(harness);
    await phone.page.getByRole("button", { name: "Turn on" }).tap();
    await phone.page.getByRole("button", { name: "Turn off" }).tap();
    await phone.page.getByText("No device receives notifications.").waitFor();
    await phone.context.close();
  });

  test("say why a device could not be removed", async () => {
    await using harness = await startPush();
    const { context, page } = await openPhone(harness);
    await page.getByRole("button", { name: "Turn on" }).tap();
    await page.route("**/api/x/push/subscriptions/*", (route) =>
      route.fulfill({ status: 503, json: { error: "unavailable", message: "The store is away." } }),
    );
    await page.getByRole("button", { name: "Turn off" }).tap();
    await page.getByText("The store is away.").waitFor();
    await context.close();
  });

  test.each(["light", "dark"] as const)("have an accessible page, %s", async (colorScheme) => {
    await using harness = await startPush();
    for (const width of [390, 1_280]) {
      const context = await browser.newContext({
        viewport: { width, height: 844 },
        colorScheme,
        bypassCSP: true,
        reducedMotion: "reduce",
      });
      const page = await context.newPage();
      const { path } = harness.server.kernel.services.signInLinks.mint("/settings/notifications");
      await page.goto(harness.server.origin + path);
      await page
        .getByRole("heading", { name: /Notifications/ })
        .first()
        .waitFor();
      await page.getByText("No device receives notifications.").waitFor();
      await expectAccessible(page);
      await context.close();
    }
  });

  test.each([
    ["iPhone", "Add Doorward to the Home Screen first"],
    ["blocked", "This browser blocks notifications of Doorward"],
    ["plain http", "Notifications need https"],
  ])("say what is missing before they are asked: %s", async (kind, title) => {
    await using harness = await startPush();
    const iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) Safari/604.1";
    const context = await browser.newContext(kind === "iPhone" ? { userAgent: iphone } : {});
    const page = await context.newPage();
    await page.addInitScript((name) => {
      const set = (target: object, key: string, value: unknown) =>
        Object.defineProperty(target, key, { get: () => value });
      if (name === "blocked") set(Notification, "permission", "denied");
      if (name === "plain http") set(globalThis, "isSecureContext", false);
    }, kind);
    const { path } = harness.server.kernel.services.signInLinks.mint("/settings/notifications");
    await page.goto(harness.server.origin + path);
    await page.getByRole("heading", { name: title }).waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Turn on" }).count()).toBe(0);
    await context.close();
  });
});
