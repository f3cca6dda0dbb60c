// Keeps the streams of sessions with subscribers from expiring.
import type { Release } from "../../kernel/index.ts";
import type { LiveSession } from "./live-session.ts";
import type { RedisLogContext } from "./log-context.ts";

/** Milliseconds between two renewals of what expires. */
const maxTouchMs = 3_600_000;

/** @returns A function that ends the renewals. */
export function touchSessions(
  { link, after, settings: { keepMs } }: RedisLogContext,
  sessions: () => Iterable<LiveSession>,
): Release {
  let release: Release;
  const schedule = (): void => {
    release = after(Math.min(maxTouchMs, keepMs / 3), () => {
      for (const { place } of sessions())
        link.run({ script: "touch", keys: place.keys, values: [keepMs] }).catch(() => undefined);
      schedule();
    });
  };
  schedule();
  return () => release();
}
