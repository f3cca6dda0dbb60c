// The end of a key by either clock: setting the system clock back makes no key last longer.

interface Clocks {
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds that are never set. */
  monotonic(): number;
}

/** An end, as it was seen for the first time. */
export interface Deadline {
  /** Unix milliseconds. */
  readonly at: number;
  /** Monotonic milliseconds. */
  readonly monotonicAt: number;
}

/** @param known - Deadlines seen before: one of them with the same time stays as it is. */
export function toDeadline(
  clock: Clocks,
  at: number | undefined,
  known: readonly (Deadline | undefined)[],
): Deadline | undefined {
  if (at === undefined) return undefined;
  const same = known.find((deadline) => deadline?.at === at);
  return same ?? { at, monotonicAt: clock.monotonic() + (at - clock.now()) };
}

/** Milliseconds until the end by the clock that is first there; at most 0 after it. */
export const leftOf = (clock: Clocks, { at, monotonicAt }: Deadline): number =>
  Math.min(at - clock.now(), monotonicAt - clock.monotonic());

export const isPast = (clock: Clocks, deadline: Deadline | undefined): boolean =>
  deadline !== undefined && leftOf(clock, deadline) <= 0;
