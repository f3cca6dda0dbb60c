// Keeps relative times and countdowns on the page current.
import { el, setText } from "./dom.ts";
import { relativeTime, formatDuration } from "../ui/text/format.ts";
import { blockedLabel } from "../ui/text/labels.ts";

/** Server time minus browser time in milliseconds. */
let clockOffset = 0;

/** Returns the current time of the server. */
export function now(): number {
  return Date.now() + clockOffset;
}

export function setServerTime(at: number): void {
  clockOffset = at - Date.now();
}

/** Creates an element that shows `3 min ago` and updates itself. Its tooltip is the local time. */
export function timeAgo(at?: number): HTMLTimeElement {
  const time = el("time", { "data-ago": true });
  if (at !== undefined) setTime(time, at);
  return time;
}

/** Sets the time of an element: `data-ago` shows `3 min ago`, `data-since` shows the duration. */
export function setTime(time: HTMLTimeElement, at: number): void {
  const iso = new Date(at).toISOString();
  if (time.dateTime === iso) return;
  time.dateTime = iso;
  time.title = new Date(at).toLocaleString();
  render(time);
}

function render(time: HTMLTimeElement): void {
  if (time.dateTime === "") return;
  const at = Date.parse(time.dateTime);
  setText(time, "since" in time.dataset ? formatDuration(now() - at) : relativeTime(at, now()));
}

export function startTimes(): void {
  const times = () =>
    document.querySelectorAll<HTMLTimeElement>("time[data-ago], time[data-since]");
  // The server does not know the time zone of the browser.
  for (const time of times())
    if (time.dateTime !== "") time.title = new Date(time.dateTime).toLocaleString();
  setInterval(() => {
    if (document.hidden) return;
    times().forEach(render);
    for (const text of document.querySelectorAll<HTMLElement>("[data-until]")) {
      setText(text, blockedLabel(Number(text.dataset["until"]), now()));
    }
  }, 1000);
}
