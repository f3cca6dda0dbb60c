/** Claimed tokens in memory: comparison in constant time, versions, and descriptions. */
import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { tokenWarning } from "./rules.ts";
import type {
  TokenBackend,
  TokenDescription,
  TokenInfo,
  TokenName,
  TokenSource,
} from "./service.ts";

// UTF-16 keeps unpaired surrogates distinct; UTF-8 would turn all of them into the same character.
const digest = (text: string): Buffer => hash("sha256", Buffer.from(text, "utf16le"), "buffer");

export interface TokenComparison {
  /** Compares in constant time: digests of equal length, without early exit. */
  matches(candidate: string): boolean;
  derive(salt: Uint8Array): Uint8Array;
}

export function createComparison(token: string): TokenComparison {
  const expected = digest(token);
  return {
    matches: (candidate) => timingSafeEqual(digest(candidate.trim()), expected),
    derive: (salt) => createHmac("sha256", salt).update(token, "utf8").digest(),
  };
}

/** A claimed token. */
export interface TokenRecord {
  value: string | undefined;
  compare: TokenComparison | undefined;
  /** 0 if there is no token. */
  version: number;
  /** The highest version so far. The version of a removed token is never used again. */
  newest: number;
  source: TokenSource;
  setupPending: boolean;
  /** Unix milliseconds of the last replacement in this process. */
  changedAt: number | undefined;
  /** Settles with the current replacement; never rejects. */
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

/** Describes a token without its value. Reads the locations of the backend again. */
export async function describeToken(
  backend: TokenBackend,
  name: TokenName,
  token: TokenRecord,
): Promise<TokenDescription> {
  const locations = (await backend.places?.(name)) ?? [];
  const label = token.source === "random" ? "config" : token.source;
  const current = locations.find(({ source }) => source === label);
  const changedAt = token.changedAt ?? current?.changedAt;
  const variable = backend.variable?.(name);
  const concern = token.value === undefined ? undefined : tokenWarning(name, token.value);
  return {
    name,
    ...toTokenInfo(token),
    ...(variable === undefined ? {} : { variable }),
    ...(changedAt === undefined ? {} : { changedAt }),
    ...(concern === undefined ? {} : { concern }),
    others: locations
      .filter((location) => location !== current)
      .map(({ source, value }) => ({ source, same: token.compare?.matches(value) ?? false })),
  };
}
