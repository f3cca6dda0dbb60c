// Formats numbers, sizes and times with their units, for the server and the browser scripts.
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Formats milliseconds as the two largest units: `3 d 4 h`, `12 min 5 s`. */
export function formatDuration(ms: number): string {
  const t = Math.max(0, ms);
  if (t < minute) return `${Math.floor(t / second)} s`;
  if (t < hour) return `${Math.floor(t / minute)} min ${Math.floor((t % minute) / second)} s`;
  if (t < day) return `${Math.floor(t / hour)} h ${Math.floor((t % hour) / minute)} min`;
  return `${Math.floor(t / day)} d ${Math.floor((t % day) / hour)} h`;
}

/** Formats the time since `at` as its largest unit: `3 min ago`. Both are Unix milliseconds. */
export function relativeTime(at: number, now: number): string {
  const t = now - at;
  if (t < 5 * second) return "just now";
  if (t < minute) return `${Math.floor(t / second)} s ago`;
  if (t < hour) return `${Math.floor(t / minute)} min ago`;
  if (t < day) return `${Math.floor(t / hour)} h ago`;
  return `${Math.floor(t / day)} d ago`;
}

/** Groups digits with thin spaces, which read the same in every language. */
export function formatCount(n: number): string {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** Created once, because this takes longer than formatting. */
let times: Intl.DateTimeFormat | undefined;

/** The time in the time zone of the reader, for example `14:02`. */
export function timeOfDay(at: number): string {
  times ??= new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return times.format(at);
}

/** Date and time in the time zone of the reader, with the same clock. */
export const dateAndTime = (at: number): string =>
  new Date(at).toLocaleString([], { hourCycle: "h23" });

/** Formats a time in UTC to the second. In the browser, a script replaces it with local time. */
export function formatUtc(at: number): string {
  return new Date(at)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Formats a size in the largest unit that keeps the number at 1 or more: `1.5 MiB`. */
export function formatBytes(n: number): string {
  const step = n < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(n) / 10));
  const value = n / 1024 ** step;
  const rounded = step === 0 || value >= 100 ? Math.round(value) : Math.round(value * 10) / 10;
  return `${rounded} ${units[step]}`;
}
