import { el, setText } from "./dom.ts";
import { relativeTime, formatDuration } from "../ui/text/format.ts";
import { blockedLabel } from "../ui/text/labels.ts";

/** Server's time minus ours, milliseconds. */
let ahead = 0;

/** The server's time now. */
export function now(): number {
  return Date.now() + ahead;
}

export function setServerTime(at: number): void {
  ahead = at - Date.now();
}

/** `3 min ago`, growing old by itself; the exact time in the reader's zone is its title. */
export function timeAgo(at?: number): HTMLTimeElement {
  const time = el("time", { "data-ago": true });
  if (at !== undefined) setTime(time, at);
  return time;
}

/** The moment that a time tells of: `data-ago` as `3 min ago`, `data-since` as how long that is. */
export function setTime(time: HTMLTimeElement, at: number): void {
  const stamp = new Date(at).toISOString();
  if (time.dateTime === stamp) return;
  time.dateTime = stamp;
  time.title = new Date(at).toLocaleString();
  tick(time);
}

function tick(time: HTMLTimeElement): void {
  if (time.dateTime === "") return;
  const at = Date.parse(time.dateTime);
  setText(time, "since" in time.dataset ? formatDuration(now() - at) : relativeTime(at, now()));
}

export function startTimes(): void {
  const shown = () =>
    document.querySelectorAll<HTMLTimeElement>("time[data-ago], time[data-since]");
  // The server does not know the reader's zone.
  for (const time of shown())
    if (time.dateTime !== "") time.title = new Date(time.dateTime).toLocaleString();
  setInterval(() => {
    if (document.hidden) return;
    shown().forEach(tick);
    for (const text of document.querySelectorAll<HTMLElement>("[data-until]")) {
      setText(text, blockedLabel(Number(text.dataset["until"]), now()));
    }
  }, 1000);
}
