import type { Clock, Log } from "./plugin.ts";

export const silent = (): void => undefined;

export const systemClock: Clock = {
  now: Date.now,
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
};

/** A host that gives no log still learns what is wrong. */
export const consoleLog: Log = {
  debug: silent,
  info: silent,
  warn: (fields, text) => console.warn(text, fields),
  error: (fields, text) => console.error(text, fields),
};

export const systemRandom = (bytes: number): Uint8Array => crypto.getRandomValues(new Uint8Array(bytes));
