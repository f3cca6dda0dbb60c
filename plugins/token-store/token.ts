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

interface TokenRule {
  /** Completes the sentence "the token cannot be used: …". */
  readonly reason: string;
  readonly isBroken: (token: string, name: TokenName) => boolean;
  /**
   * `exposed`: no token may break the rule if other machines can connect. `known`: a token from any
   * source that breaks the rule causes a warning. `chosen`: the rule applies to new tokens only,
   * which a user chooses on a page or on the command line.
   */
  readonly applies: "exposed" | "known" | "chosen";
}

/**
 * The rules of all tokens, the most serious first. A new token must follow all of them. A token of
 * the environment, a file, a host or another node must follow those with `exposed`, at a start and
 * while the program runs.
 */
const rules: readonly TokenRule[] = [
  {
    // A remote attacker could guess it within the rate limits.
    applies: "exposed",
    reason: "it has fewer than 8 characters",
    isBroken: (token) => [...token].length < 8,
  },
  {
    applies: "known",
    reason: "it has fewer than 16 characters",
    isBroken: (token) => [...token].length < 16,
  },
  {
    applies: "known",
    reason: 'it starts with "ott_", which marks one-time links',
    isBroken: (token) => token.startsWith("ott_"),
  },
  {
    applies: "chosen",
    reason: "it may contain only printable ASCII characters without spaces",
    isBroken: (token) => !/^[\x21-\x7e]+$/.test(token),
  },
  {
    // `openssl rand -base64 64` writes two lines.
    applies: "known",
    reason: "it contains a line break or another control character, which headers cannot transmit",
    isBroken: (token) => /\p{Cc}/u.test(token),
  },
  {
    applies: "chosen",
    reason: "it has more than 256 characters",
    isBroken: (token) => token.length > 256,
  },
  {
    applies: "chosen",
    reason: "it is one character repeated",
    isBroken: (token) => /^(.)\1+$/s.test(token),
  },
  {
    // Other channels transmit tokens in their own ways, often defined by third parties.
    applies: "known",
    reason:
      "browsers cannot send its characters as `token.<value>`; " +
      "they can use `token64.<base64url>`",
    isBroken: (token, name) => name === "pico" && !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(token),
  },
];
function brokenRule(
  token: string,
  name: TokenName,
  ...applies: readonly TokenRule["applies"][]
): string | undefined {
  const isBroken = (rule: TokenRule) =>
    applies.includes(rule.applies) && rule.isBroken(token, name);
  return rules.find(isBroken)?.reason;
}

/**
 * Checks a token that a user chooses on a page or on the command line.
 *
 * @returns Why the token cannot be used, or undefined if it can.
 */
export const weakTokenReason = (token: string): string | undefined =>
  brokenRule(token, "", "known", "chosen");

/**
 * Checks a token from a file, the environment, a host or another node.
 *
 * @returns A warning about a token that works with restrictions, or undefined.
 */
export const tokenWarning = (name: string, token: string): string | undefined =>
  brokenRule(token, name, "known");

/**
 * Checks a token from a file, the environment, a host or another node.
 *
 * @param isExposed - True if other machines can connect.
 * @returns Why the token cannot be used, or undefined if it can.
 */
export const unusableReason = (token: string, isExposed: boolean): string | undefined =>
  isExposed ? brokenRule(token, "", "exposed") : undefined;

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
  /** Whether other machines can connect and so try to guess the token. */
  readonly isExposed: boolean;
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

export const createTokenRecord = (isExposed: boolean): TokenRecord => ({
  isExposed,
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
