import { comparison, type Comparison } from "./compare.ts";
import type { TokenSource } from "./service.ts";

/** A claimed token in memory. */
export interface Held {
  value: string | undefined;
  compare: Comparison | undefined;
  /** 0 while there is none. */
  version: number;
  /** The highest version there has been: a removed token's number never comes back. */
  newest: number;
  source: TokenSource;
  setupPending: boolean;
  /** Unix milliseconds of the replacement in this process. */
  changedAt: number | undefined;
  /** Settles, never rejects, when the replacement under way has. */
  replacing: Promise<void> | undefined;
  readonly salts: Map<string, Uint8Array>;
}

export const nothingHeld = (): Held => ({
  value: undefined,
  compare: undefined,
  version: 0,
  newest: 0,
  source: "none",
  setupPending: false,
  changedAt: undefined,
  replacing: undefined,
  salts: new Map(),
});

export function hold(token: Held, value: string): void {
  token.value = value;
  token.compare = comparison(value);
  token.newest += 1;
  token.version = token.newest;
}

export function drop(token: Held): void {
  token.value = undefined;
  token.compare = undefined;
  token.version = 0;
  token.source = "none";
}
