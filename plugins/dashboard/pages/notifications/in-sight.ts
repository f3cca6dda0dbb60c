/**
 * Tells the server that this page is in sight, so that it notifies no device. A hidden tab of a
 * browser that receives nothing from the server notifies itself.
 *
 * @module
 */
import { effect } from "@preact/signals";
import { counts } from "../frame/counts.ts";
import { base } from "../live/base.ts";
import { registerWorker } from "../live/worker.ts";
import { renewDevice } from "./device.ts";

const repeatMs = 45_000;
const localTag = "open-questions";

export function followSight(): void {
  const page = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
  const send = (): void => {
    const body = JSON.stringify({ page, visible: !document.hidden });
    const headers = { "content-type": "application/json" };
    // It also leaves with the page. A failure has no effect: the next one repeats it.
    fetch(`${base()}/api/x/push/seen`, { method: "POST", headers, body, keepalive: true }).catch(
      () => undefined,
    );
  };
  send();
  document.addEventListener("visibilitychange", send);
  setInterval(() => {
    if (!document.hidden) send();
  }, repeatMs);
  void renewDevice();
  notifyWhileHidden();
}

function notifyWhileHidden(): void {
  let before = 0;
  effect(() => {
    const { questions } = counts.value;
    const more = questions > before;
    before = questions;
    if (questions === 0) void closeOwn();
    else if (more && document.hidden) void showOwn(questions);
  });
}

const isAllowed = (): boolean => "Notification" in window && Notification.permission === "granted";

async function showOwn(questions: number): Promise<void> {
  if (!isAllowed()) return;
  const registration = await registerWorker()?.catch(() => undefined);
  if (!registration || (await registration.pushManager.getSubscription())) return;
  await registration.showNotification("Doorward", {
    body: questions === 1 ? "A question is waiting" : `${questions} questions are waiting`,
    tag: localTag,
    data: { navigate: new URL(`${base()}/overview`, location.href).href },
  });
}

async function closeOwn(): Promise<void> {
  if (!isAllowed()) return;
  const registration = await registerWorker()?.catch(() => undefined);
  const shown = (await registration?.getNotifications({ tag: localTag })) ?? [];
  for (const notification of shown) notification.close();
}
