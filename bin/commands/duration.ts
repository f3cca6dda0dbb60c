// Reads durations of the command line.
import { UsageError } from "./command.ts";

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Reads `90d`, `12h`, `30m` or seconds. */
export function toSeconds(option: string, text: string): number {
  const [, digits, unit = "s"] = /^(\d{1,9})([smhd])?$/.exec(text) ?? [];
  if (digits === undefined)
    throw new UsageError(`"-${option}" takes a time such as 90d, 12h, 30m or 3600 (seconds)`);
  return Number(digits) * units[unit]!;
}
