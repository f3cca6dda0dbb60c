// Turns the channel on and off from the overview.
import type { StatusView } from "../api/views.ts";
import { requestAsOwner } from "./owner.ts";
import { setLive } from "./dom.ts";
import type { Feed } from "./feed.ts";

const changedMessage =
  "The settings changed in the meantime. The page now shows the new values. Try again.";

/** Enables the two buttons that turn the channel on and off. */
export function enableChannelSwitch(feed: Feed): void {
  const on = document.querySelector<HTMLButtonElement>('[data-turn="on"]');
  const off = document.querySelector<HTMLButtonElement>('[data-turn="off"]');
  const address = document.querySelector<HTMLElement>('[data-copy="channel-url"]');
  on?.addEventListener("click", async () => {
    if ((await waitForStatus(feed, on)) && (await switchChannel(feed, true, on))) address?.focus();
  });
  off?.addEventListener("click", async () => {
    if (!(await waitForStatus(feed, off)) || !(await confirmTurnOff(feed.latest()))) return;
    if (await switchChannel(feed, false, off)) on?.focus();
  });
}

/** Waits for the first status. It contains the etag and the number of connected clients. */
async function waitForStatus(feed: Feed, button: HTMLButtonElement): Promise<boolean> {
  if (feed.latest()) return true;
  button.disabled = true;
  const error = await feed.refresh();
  button.disabled = false;
  button.focus(); // a disabled button loses the focus
  if (error) setLive("channel-said", error.message);
  return error === undefined;
}

/** @returns True on success. The page then hides the button, so the caller moves the focus. */
async function switchChannel(
  feed: Feed,
  enabled: boolean,
  button: HTMLButtonElement,
): Promise<boolean> {
  button.disabled = true;
  const answer = await requestAsOwner(
    "PUT",
    "/api/channels/pico",
    { enabled },
    feed.latest()?.channel?.etag ?? "",
  );
  await feed.refresh();
  button.disabled = false;
  if (!("error" in answer)) {
    setLive(
      "channel-said",
      enabled ? "The channel is on." : "The channel is off. All clients are disconnected.",
    );
    return true;
  }
  setLive("channel-said", answer.error.status === 412 ? changedMessage : answer.error.message);
  return false;
}

/** Asks for confirmation if clients are connected, since they would be disconnected. */
function confirmTurnOff(status: StatusView | undefined): Promise<boolean> {
  const dialog = document.querySelector<HTMLDialogElement>('[data-dialog="turn-off"]');
  const connected = status?.channel?.connections ?? 0;
  if (!dialog || connected === 0) return Promise.resolve(true);
  setLive(
    "turn-off-count",
    connected === 1 ? "This disconnects 1 client." : `This disconnects ${connected} clients.`,
  );
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "off"), { once: true });
  });
}
