/** Tokens: rules for their values, comparison in constant time, and records of claimed ones. */
import { createHmac, hash, timingSafeEqual } from "node:crypto";
import type {
  TokenBackend,
  TokenDescription,
  TokenInfo,
  TokenName,
  TokenSource,
} from "./service.ts";

const tokensOutsideChannels: readonly TokenName[] = ["launcher", "metrics"];

/**
 * Returns the name of the environment variable of a token.
 *
 * @param brand - Prefix of the variable, in lower case. @defaultValue `"service"`
 * @returns For example `SERVICE_LAUNCHER_TOKEN` or `SERVICE_CHANNELS_PICO_TOKEN`.
 */
export const tokenVariable = (name: TokenName, brand = "service"): string =>
  [brand, ...(tokensOutsideChannels.includes(name) ? [] : ["channels"]), name, "token"]
    .join("_")
    .toUpperCase();

/**
 * Checks a token that a user chooses on a page or on the command line.
 *
 * @returns Why the token cannot be used, or undefined if it can.
 */
export function weakTokenReason(token: string): string | undefined {
  if (token.length < 16) return "it has fewer than 16 characters";
  if (token.length > 256) return "it has more than 256 characters";
  if (!/^[\x21-\x7e]+$/.test(token))
    return "it may contain only printable ASCII characters without spaces";
  if (/^(.)\1+$/s.test(token)) return "it is one character repeated";
  if (token.startsWith("ott_")) return 'it starts with "ott_", which marks one-time links';
  return undefined;
}

/**
 * Checks a token from a file or from the environment.
 *
 * @returns A warning about a token that works with restrictions, or undefined.
 */
export function tokenWarning(name: string, token: string): string | undefined {
  if ([...token].length < 16) return "it has fewer than 16 characters";
  if (token.startsWith("ott_")) return 'it starts with "ott_", which marks one-time links';
  // `openssl rand -base64 64` writes two lines.
  if (/\p{Cc}/u.test(token))
    return "it contains a line break or another control character, which headers cannot transmit";
  // Other channels transmit tokens in their own ways, often defined by third parties.
  if (name === "pico" && !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(token)) {
    return (
      "browsers cannot send its characters as `token.<value>`; " +
      "they can use `token64.<base64url>`"
    );
  }
  return undefined;
}

/** Returns whether a remote attacker could guess the token within the rate limits. */
export const isGuessable = (token: string): boolean => [...token].length < 8;

/**
 * Checks a token that an edit of a file brings in while the program runs.
 *
 * @returns Why the token is rejected, or undefined.
 */
export function invalidTokenReason(token: string): string | undefined {
  if (isGuessable(token)) return "it has fewer than 8 characters";
  return /\p{Cc}/u.test(token) ? "it contains a control character" : undefined;
}

/**
 * Generates a token of 32 random bytes.
 *
 * @returns For the launcher base64url (43 characters), otherwise hexadecimal (64 characters).
 */
export function generateToken(name: string, random: (bytes: number) => Uint8Array): string {
  return Buffer.from(random(32)).toString(name === "launcher" ? "base64url" : "hex");
}

// UTF-16 keeps unpaired surrogates distinct; UTF-8 would turn all of them into the same character.
const digest = (text: string): Buffer => hash("sha256", Buffer.from(text, "utf16le"), "buffer");

interface TokenComparison {
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
