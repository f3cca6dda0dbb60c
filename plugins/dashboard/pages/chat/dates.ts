/** Days and times of conversations, in the zone of the reader. @module */

const dayMs = 86_400_000;

/** Days by time: the messages of a conversation are compared with each drawing. */
const days = new Map<number, number>();
const maxDays = 5_000;

function startOfDay(at: number): number {
  const known = days.get(at);
  if (known !== undefined) return known;
  if (days.size >= maxDays) days.clear();
  const start = new Date(at).setHours(0, 0, 0, 0);
  days.set(at, start);
  return start;
}

/** Whole days between two times. Rounded, because a day may have 23 or 25 hours. */
const daysBetween = (at: number, now: number): number =>
  Math.round((new Date(now).setHours(0, 0, 0, 0) - startOfDay(at)) / dayMs);

const formatDate = (at: number, options: Intl.DateTimeFormatOptions): string =>
  new Date(at).toLocaleDateString([], options);

const isSameYear = (at: number, now: number): boolean =>
  new Date(at).getFullYear() === new Date(now).getFullYear();

/** Heading of a part of the list: days, the last week, then months. */
export function formatPeriod(at: number, now: number): string {
  const days = daysBetween(at, now);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days < 8) return "Last week";
  const year = isSameYear(at, now) ? {} : ({ year: "numeric" } as const);
  return formatDate(at, { month: "long", ...year });
}

/** Age of a row in the list: "now", "5 min", "2 h", the weekday in the last week, the date. */
export function formatAge(at: number, now: number): string {
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h`;
  if (daysBetween(at, now) < 7) return formatDate(at, { weekday: "short" });
  return formatDate(at, { day: "numeric", month: "short" });
}

/** Heading of a day: "Today", "Yesterday", or the date. */
export function formatDay(at: number, now: number): string {
  const days = daysBetween(at, now);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  const year = isSameYear(at, now) ? {} : ({ year: "numeric" } as const);
  return formatDate(at, { weekday: "long", day: "numeric", month: "long", ...year });
}

/** True if both times are on the same day. */
export const isSameDay = (a: number, b: number): boolean => startOfDay(a) === startOfDay(b);

/** Formats a duration for people: `310 ms`, `2.4 s`, `1 min 5 s`. */
export function formatMs(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
}
