import type { Clock, Log } from "../../kernel/index.ts";

/** Lines that may come at once, and of a second over time. */
const burst = 20;
const perSecond = 1;
const maxTextLength = 300;

/** What the other end said, on one line and not at any length. */
export function truncateLine(text: string): string {
  const line = text.slice(0, maxTextLength).replace(/\p{Cc}+/gu, " ");
  return text.length > maxTextLength ? `${line} …` : line;
}

/** Warnings that the other end causes: one that sends nothing else must not push all that is there out of the log. */
export function createRateLimitedWarn(log: Log, clock: Clock): Log["warn"] {
  let left = burst;
  let filledAt = clock.now();
  let leftOut = 0;
  return (fields, text) => {
    const now = clock.now();
    left = Math.min(burst, left + (Math.max(0, now - filledAt) / 1_000) * perSecond);
    filledAt = now;
    if (left < 1) return void (leftOut += 1);
    left -= 1;
    if (leftOut > 0)
      log.warn(
        { lines: leftOut },
        "the other end says more than the log takes: lines were left out",
      );
    leftOut = 0;
    log.warn(fields, text);
  };
}
