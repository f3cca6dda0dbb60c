import type { Clock, Log, LogLine } from "./plugin.ts";

export const silent = (): void => undefined;

const start: Clock["setTimeout"] = (run, ms) => setTimeout(run, ms);
const clear: Clock["clearTimeout"] = (id) => clearTimeout(id as NodeJS.Timeout);
export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  setTimeout: start,
  clearTimeout: clear,
};

const warn: LogLine = (fields, text) => console.warn(text, fields);
const error: LogLine = (fields, text) => console.error(text, fields);
/** A host that gives no log still learns what is wrong. */
export const consoleLog: Log = { debug: silent, info: silent, warn, error };

export const systemRandom = (bytes: number): Uint8Array =>
  crypto.getRandomValues(new Uint8Array(bytes));
