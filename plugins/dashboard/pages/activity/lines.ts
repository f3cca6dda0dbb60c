// Keeps the newest log lines with their numbers, and counts them for the histogram.
import { logLevels, type LogLevel, type LogLineView } from "../../shared/views.ts";

/** A line of the page. */
export interface NumberedLine extends LogLineView {
  /** Grows with every line that this page has received. */
  readonly seq: number;
  /** Identifies the line in an address. */
  readonly id: string;
  /** Number of lines that the server left out here; the line itself has no content then. */
  readonly skipped?: number;
}

export const maxLines = 1000;
/** Lines from this number on are drawn only while they are near the visible part. */
export const minVirtualLines = 500;
/** Lines that appear and disappear together. */
const chunkSize = 50;

/** Identifies a line by its time and a checksum of its content (FNV-1a). */
export function idOf({ at, text, fields }: LogLineView): string {
  let hash = 0x811c9dc5;
  for (const character of text + JSON.stringify(fields)) {
    hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193);
  }
  return `${at}-${(hash >>> 0).toString(36)}`;
}

/** Groups lines of any order by their numbers, so that a new line changes one chunk only. */
export function toChunks(
  lines: readonly NumberedLine[],
): readonly { readonly key: number; readonly lines: readonly NumberedLine[] }[] {
  const chunks: { key: number; lines: NumberedLine[] }[] = [];
  for (const line of lines) {
    const key = Math.floor(line.seq / chunkSize);
    const last = chunks.at(-1);
    if (last?.key === key) last.lines.push(line);
    else chunks.push({ key, lines: [line] });
  }
  return chunks;
}

const minuteMs = 60_000;
const histogramMinutes = 90;

/** One minute of the histogram. */
export interface Minute {
  /** Unix milliseconds of its start. */
  readonly at: number;
  readonly count: number;
  /** The highest level of its lines. */
  readonly worst: LogLevel;
}

/** Shown at least, so that bars stay narrow. */
const minHistogramMinutes = 30;

/** Counts the lines since the first one, at most of the last 90 minutes, oldest minute first. */
export function histogramOf(lines: readonly LogLineView[], now: number): readonly Minute[] {
  const last = Math.floor(now / minuteMs);
  const oldest = lines.reduce((found, { at }) => Math.min(found, Math.floor(at / minuteMs)), last);
  const wanted = Math.max(minHistogramMinutes, last - oldest + 1);
  const length = Math.min(histogramMinutes, wanted);
  const first = last - length + 1;
  const counts = Array.from({ length }, () => 0);
  const worst = Array.from({ length }, (): LogLevel => "debug");
  for (const { at, level } of lines) {
    const index = Math.floor(at / minuteMs) - first;
    if (index < 0 || index >= length) continue;
    counts[index]! += 1;
    if (logLevels.indexOf(level) > logLevels.indexOf(worst[index]!)) worst[index] = level;
  }
  return counts.map((count, index) => ({
    at: (first + index) * minuteMs,
    count,
    worst: worst[index]!,
  }));
}

/** Says in one sentence what the histogram shows. */
export function histogramSentence(
  minutes: readonly Minute[],
  timeLabel: (at: number) => string,
): string {
  const total = minutes.reduce((sum, { count }) => sum + count, 0);
  const marked = minutes.filter(({ worst }) => worst === "error" || worst === "warn").slice(-3);
  const notes = marked.map(({ at, worst }) =>
    worst === "error" ? `errors at ${timeLabel(at)}` : `warnings at ${timeLabel(at)}`,
  );
  const lines = total === 1 ? "1 line" : `${total} lines`;
  return [`${lines} in the last ${minutes.length} minutes`, ...notes].join(", ");
}

/** True if the line is of the minute that begins at `minute`. */
export const isInMinute = ({ at }: LogLineView, minute: number): boolean =>
  at >= minute && at < minute + minuteMs;
