/**
 * Logs client faults at most once per address, reason and minute, and counts all of them.
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
  /** One of a fixed set of values, because it is also a metric label. */
  readonly reason: string;
  /** IP address of the client. Addresses of one IPv6 /64 share a log line. */
  readonly address: string;
  /** Text of the log line. */
  readonly text: string;
  /** Additional fields of the log line. */
  readonly fields?: object;
  /** @defaultValue `"warn"` */
  readonly level?: "info" | "warn";
}

interface Entry {
  latest: ClientFault;
  readonly log: Log;
  /** Faults since the last log line. */
  repeated: number;
  timer: unknown;
}

interface LogLimiter {
  /** Logs the fault, or counts it for the line at the end of the minute. */
  note(log: Log, fault: ClientFault): void;
  /** Returns the number of all faults since the start, by reason. */
  counts(): Readonly<Record<string, number>>;
  /** Writes the pending lines and stops all timers. */
  stop(): void;
}

/**
 * Creates a limiter. The first fault of an address is logged immediately. A second line at the end
 * of the minute contains the number of further faults as `repeated`.
 */
export function createLogLimiter(clock: Clock): LogLimiter {
  const entries = new Map<string, Entry>();
  const counts: Record<string, number> = {};

  function write({ log, latest: { reason, address, text, fields, level }, repeated }: Entry): void {
    const count = repeated > 0 ? { repeated } : {};
    log[level ?? "warn"]({ reason, ip: address, ...fields, ...count }, text);
  }

  function startTimer(key: string, entry: Entry): void {
    entry.timer = clock.setTimeout(() => {
      if (entry.repeated === 0) return void entries.delete(key);
      write(entry);
      entry.repeated = 0;
      startTimer(key, entry);
    }, windowMs);
  }

  return {
    note(log, fault) {
      const { reason, address } = fault;
      counts[reason] = (counts[reason] ?? 0) + 1;
      const addressEntry = `${reason} ${addressKey(address)}`;
      const hasRoom = entries.has(addressEntry) || entries.size < maxEntries;
      const key = hasRoom ? addressEntry : reason;
      const known = entries.get(key);
      if (known) {
        known.repeated += 1;
        known.latest = fault;
        return;
      }
      const entry: Entry = { latest: fault, log, repeated: 0, timer: undefined };
      entries.set(key, entry);
      write(entry);
      startTimer(key, entry);
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
