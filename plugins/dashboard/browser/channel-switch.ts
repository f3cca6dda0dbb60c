import type { StatusView } from "../api/views.ts";
import { askOwner } from "./owner.ts";
import { setLive } from "./dom.ts";
import type { Feed } from "./feed.ts";

const changedMeanwhile = "The settings had changed meanwhile. This is how they are now; try again.";

/** The two buttons that turn the channel on and off. */
export function enableChannelSwitch(feed: Feed): void {
  const on = document.querySelector<HTMLButtonElement>('[data-turn="on"]');
  const off = document.querySelector<HTMLButtonElement>('[data-turn="off"]');
  const address = document.querySelector<HTMLElement>('[data-copy="channel-url"]');
  on?.addEventListener("click", async () => {
    if ((await isKnown(feed, on)) && (await turn(feed, true, on))) address?.focus();
  });
  off?.addEventListener("click", async () => {
    if (!(await isKnown(feed, off)) || !(await agreed(feed.latest()))) return;
    if (await turn(feed, false, off)) on?.focus();
  });
}

/** Waits for the first status: before that nobody knows which settings are changed, and who is cut off. */
async function isKnown(feed: Feed, button: HTMLButtonElement): Promise<boolean> {
  if (feed.latest()) return true;
  button.disabled = true;
  const refused = await feed.refresh();
  button.disabled = false;
  button.focus(); // a button that cannot be pressed loses it
  if (refused) setLive("channel-said", refused.message);
  return refused === undefined;
}

/** Whether it worked. The button that was pressed disappears then, so the focus needs a new place. */
async function turn(feed: Feed, enabled: boolean, button: HTMLButtonElement): Promise<boolean> {
  button.disabled = true;
  const answer = await askOwner(
    "PUT",
    "/api/channels/pico",
    { enabled },
    feed.latest()?.channel?.etag ?? "",
  );
  await feed.refresh();
  button.disabled = false;
  if (!("refused" in answer)) {
    setLive(
      "channel-said",
      enabled ? "The channel is on." : "The channel is off. Its clients were disconnected.",
    );
    return true;
  }
  setLive(
    "channel-said",
    answer.refused.status === 412 ? changedMeanwhile : answer.refused.message,
  );
  return false;
}

/** Asks first, since whoever is connected is cut off. */
function agreed(status: StatusView | undefined): Promise<boolean> {
  const dialog = document.querySelector<HTMLDialogElement>('[data-dialog="turn-off"]');
  const connected = status?.channel?.connections ?? 0;
  if (!dialog || connected === 0) return Promise.resolve(true);
  setLive(
    "turn-off-count",
    connected === 1 ? "One client is disconnected." : `${connected} clients are disconnected.`,
  );
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "off"), { once: true });
  });
}
