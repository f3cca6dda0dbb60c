/** Days between messages and the times of answers. Loaded with the rows. @module */
import { daysBetween, formatDate, isSameYear } from "./dates.ts";

/** Heading of a day: "Today", "Yesterday", or the date. */
export function formatDay(at: number, now: number): string {
  const days = daysBetween(at, now);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  const year = isSameYear(at, now) ? {} : ({ year: "numeric" } as const);
  return formatDate(at, { weekday: "long", day: "numeric", month: "long", ...year });
}

/** Days by time: the messages of a conversation are compared with each drawing. */
const days = new Map<number, number>();
const maxDays = 5_000;

function dayOf(at: number): number {
  const known = days.get(at);
  if (known !== undefined) return known;
  if (days.size >= maxDays) days.clear();
  const start = new Date(at).setHours(0, 0, 0, 0);
  days.set(at, start);
  return start;
}

/** True if both times are on the same day. */
export const isSameDay = (a: number, b: number): boolean => dayOf(a) === dayOf(b);

/** Formats a duration for people: `310 ms`, `2.4 s`, `1 min 5 s`. */
export function formatMs(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
}
