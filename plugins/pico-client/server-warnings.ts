// Logs warnings caused by the server, with bounded length and rate.
import type { Clock, Log } from "../../kernel/index.ts";

/** Lines that may follow each other immediately, and lines per second over time. */
const burst = 20;
const perSecond = 1;
const maxTextLength = 300;

/** @returns The text on one line, cut to a bounded length. */
export function truncateLine(text: string): string {
  const line = text.slice(0, maxTextLength).replace(/\p{Cc}+/gu, " ");
  return text.length > maxTextLength ? `${line} …` : line;
}

/** Bounds the rate, so that a server cannot displace the rest of the log. */
export function createRateLimitedWarn(log: Log, clock: Clock): Log["warn"] {
  let tokens = burst;
  let filledAt = clock.now();
  let droppedLines = 0;
  return (fields, text) => {
    const now = clock.now();
    tokens = Math.min(burst, tokens + (Math.max(0, now - filledAt) / 1_000) * perSecond);
    filledAt = now;
    if (tokens < 1) return void (droppedLines += 1);
    tokens -= 1;
    if (droppedLines > 0)
      log.warn(
        { lines: droppedLines },
        "the server caused more warnings than the log accepts; some were left out",
      );
    droppedLines = 0;
    log.warn(fields, text);
  };
}
