/**
 * Logs what clients cause at most once per address, reason and minute, and counts all of it.
 *
 * @module
 */
import type { Clock, Log } from "../../kernel/index.ts";
import { addressKey } from "./addresses.ts";

const windowMs = 60_000;
/** Beyond this many in one minute, all further addresses share one line per reason. */
const maxEntries = 100;

/** A fault of a client that is expected in normal operation. */
export interface ClientFault {
  /** From a closed set: it is also the label of a metric. */
  readonly reason: string;
  readonly address: string;
  /** The sentence of the log line. */
  readonly text: string;
  /** More fields of the log line. */
  readonly fields?: object;
  /** @defaultValue `"warn"` */
  readonly level?: "info" | "warn";
}

interface Entry {
  latest: ClientFault;
  readonly log: Log;
  /** Faults since the last line. */
  repeated: number;
  timer: unknown;
}

export interface LogLimiter {
  /** Writes a line, or counts for the line that follows a minute later. */
  note(log: Log, fault: ClientFault): void;
  /** All that were noted since the start, by reason. */
  counts(): Readonly<Record<string, number>>;
  /** Writes the lines that are due and starts no timer any more. */
  stop(): void;
}

/**
 * Creates a limiter. The first fault of an address writes its line immediately; the number of those
 * that follow within the minute is in one more line at its end, as `repeated`.
 */
export function createLogLimiter(clock: Clock): LogLimiter {
  const entries = new Map<string, Entry>();
  const counts: Record<string, number> = {};

  function write({ log, latest: { reason, address, text, fields, level }, repeated }: Entry): void {
    const count = repeated > 0 ? { repeated } : {};
    log[level ?? "warn"]({ reason, ip: address, ...fields, ...count }, text);
  }

  function wait(key: string, entry: Entry): void {
    entry.timer = clock.setTimeout(() => {
      if (entry.repeated === 0) return void entries.delete(key);
      write(entry);
      entry.repeated = 0;
      wait(key, entry);
    }, windowMs);
  }

  return {
    note(log, fault) {
      const { reason, address } = fault;
      counts[reason] = (counts[reason] ?? 0) + 1;
      const own = `${reason} ${addressKey(address)}`;
      const key = entries.has(own) || entries.size < maxEntries ? own : reason;
      const known = entries.get(key);
      if (known) {
        known.repeated += 1;
        known.latest = fault;
        return;
      }
      const entry: Entry = { latest: fault, log, repeated: 0, timer: undefined };
      entries.set(key, entry);
      write(entry);
      wait(key, entry);
    },

    counts: () => counts,

    stop() {
      for (const entry of entries.values()) {
        clock.clearTimeout(entry.timer);
        if (entry.repeated > 0) write(entry);
      }
      entries.clear();
    },
  };
}
