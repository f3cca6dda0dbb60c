// Warnings caused by the server of a link: bounded in length and rate.
import type { Clock, Log } from "../../kernel/index.ts";

/** Lines that may follow each other immediately, and lines per second over time. */
const burst = 20;
const perSecond = 1;
const maxTextLength = 300;

/** A text of the server on one line, with a bounded length. */
export function truncateLine(text: string): string {
  const line = text.slice(0, maxTextLength).replace(/\p{Cc}+/gu, " ");
  return text.length > maxTextLength ? `${line} …` : line;
}

/** Logs warnings that the server causes, at a bounded rate: they must not displace the rest of the log. */
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
        "the server caused more warnings than the log accepts; some were left out",
      );
    leftOut = 0;
    log.warn(fields, text);
  };
}
