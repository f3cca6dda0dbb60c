import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { tokenWarning } from "./rules.ts";
import type {
  TokenBackend,
  TokenDescription,
  TokenInfo,
  TokenName,
  TokenSource,
} from "./service.ts";

// UTF-16 keeps unpaired surrogates apart, which UTF-8 would all turn into one replacement character.
const digest = (text: string): Buffer => hash("sha256", Buffer.from(text, "utf16le"), "buffer");

export interface TokenComparison {
  /** Constant time: digests of equal length, no early exit. */
  matches(candidate: string): boolean;
  derive(salt: Uint8Array): Uint8Array;
}

/** Holds a token so that it can be compared and derived from. */
export function createComparison(token: string): TokenComparison {
  const expected = digest(token);
  return {
    matches: (candidate) => timingSafeEqual(digest(candidate.trim()), expected),
    derive: (salt) => createHmac("sha256", salt).update(token, "utf8").digest(),
  };
}

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

export const toTokenInfo = ({ version, source }: TokenRecord): TokenInfo => ({
  version,
  source,
  managedByEnv: source === "env",
});

/** All that may be said of a token without saying it. Reads the places again. */
export async function describeToken(
  form: TokenBackend,
  name: TokenName,
  token: TokenRecord,
): Promise<TokenDescription> {
  const places = (await form.places?.(name)) ?? [];
  const label = token.source === "random" ? "config" : token.source;
  const own = places.find(({ source }) => source === label);
  const changedAt = token.changedAt ?? own?.changedAt;
  const variable = form.variable?.(name);
  const doubt = token.value === undefined ? undefined : tokenWarning(name, token.value);
  return {
    name,
    ...toTokenInfo(token),
    ...(variable === undefined ? {} : { variable }),
    ...(changedAt === undefined ? {} : { changedAt }),
    ...(doubt === undefined ? {} : { concern: doubt }),
    others: places
      .filter((place) => place !== own)
      .map(({ source, value }) => ({ source, same: token.compare?.matches(value) ?? false })),
  };
}
