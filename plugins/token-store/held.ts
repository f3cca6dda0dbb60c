import { createComparison, type TokenComparison } from "./compare.ts";
import type { TokenSource } from "./service.ts";

/** A claimed token in memory. */
export interface TokenRecord {
  value: string | undefined;
  compare: TokenComparison | undefined;
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

export const createTokenRecord = (): TokenRecord => ({
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

export function setToken(token: TokenRecord, value: string): void {
  token.value = value;
  token.compare = createComparison(value);
  token.newest += 1;
  token.version = token.newest;
}

export function clearToken(token: TokenRecord): void {
  token.value = undefined;
  token.compare = undefined;
  token.version = 0;
  token.source = "none";
}
