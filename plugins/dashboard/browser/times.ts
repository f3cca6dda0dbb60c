import { el, setText } from "./dom.ts";
import { ago } from "./format.ts";

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

export function setTime(time: HTMLTimeElement, at: number): void {
  const stamp = new Date(at).toISOString();
  if (time.dateTime === stamp) return;
  time.dateTime = stamp;
  time.title = new Date(at).toLocaleString();
  setText(time, ago(at, now()));
}

export function startTimes(): void {
  setInterval(() => {
    if (document.hidden) return;
    for (const time of document.querySelectorAll<HTMLTimeElement>("time[data-ago]")) {
      if (time.dateTime !== "") setText(time, ago(Date.parse(time.dateTime), now()));
    }
  }, 5000);
}
