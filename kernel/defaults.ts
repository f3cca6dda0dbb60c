// Defaults of a kernel: the system clock, the console and secure random bytes.
import type { Clock, Log, LogLine } from "./plugin.ts";

export const noop = (): void => undefined;

export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
};

/** A host that passes no log still sees warnings and errors. */
export const consoleLog: Log = {
  debug: noop,
  info: noop,
  warn: (fields, text) => console.warn(text, fields),
  error: (fields, text) => console.error(text, fields),
};

/** A log that never throws, so that a full disk ends neither a start nor a stop. */
export function createSafeLog(log: Log): Log {
  const safe =
    (level: keyof Log): LogLine =>
    (fields, text) => {
      try {
        log[level](fields, text);
      } catch {
        // There is no other place to report it.
      }
    };
  return { debug: safe("debug"), info: safe("info"), warn: safe("warn"), error: safe("error") };
}

const randomBlockBytes = 4_096;

/**
 * Returns random bytes from blocks, because a call to the system takes nearly as long for 16 bytes
 * as for a block. Without blocks, a new connection takes up to a fifth longer. Each byte is used
 * once and overwritten.
 */
export function createRandom(): (bytes: number) => Uint8Array {
  let buffer = new Uint8Array(0);
  return (bytes) => {
    if (bytes > randomBlockBytes) return crypto.getRandomValues(new Uint8Array(bytes));
    if (buffer.length < bytes) buffer = crypto.getRandomValues(new Uint8Array(randomBlockBytes));
    const result = buffer.slice(0, bytes);
    buffer.fill(0, 0, bytes);
    buffer = buffer.subarray(bytes);
    return result;
  };
}
