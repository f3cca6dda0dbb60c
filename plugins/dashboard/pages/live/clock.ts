/** The time of the server in the browser, and a signal that ticks each second. @module */
import { signal } from "@preact/signals";

/** Server time minus browser time in milliseconds. */
let offset = 0;

/** @returns The current time of the server in Unix milliseconds. */
export const serverNow = (): number => Date.now() + offset;

/** Sets the clock from a time that the server sent. */
export function setServerTime(at: number): void {
  offset = at - Date.now();
  second.value = at;
}

/** Server time in whole seconds of display. 0 until the page is in use; then it ticks. */
export const second = signal(0);

/** Starts the ticking. It pauses while the page is hidden. */
export function startClock(at: number): void {
  setServerTime(at);
  setInterval(() => {
    if (!document.hidden) second.value = serverNow();
  }, 1000);
}
