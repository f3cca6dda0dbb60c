import type { Awaitable, Log, Release } from "../../kernel/index.ts";

/** `launcher`, `metrics`, or the name of a channel: `pico`, `pico_client`, … */
export type TokenName = string;
export type TokenSource = "env" | "security" | "config" | "random" | "host" | "none";

export interface TokenInfo {
  /** Grows by one at every replacement; 0 while there is no token. */
  readonly version: number;
  readonly source: TokenSource;
  readonly managedByEnv: boolean;
}

/** Questions about tokens. The token itself never leaves: callers learn which version matched. */
export interface Tokens {
  /** Called in `start()`. Nothing unclaimed is read, generated or written. `exposed`: other machines can try to guess
   *  it; then one under 8 characters rejects `token_too_short`. */
  claim(name: TokenName, options?: { generate?: true; exposed?: boolean }): Promise<TokenInfo>;
  /** The version the candidate matched. Compared in constant time; the candidate's ends are trimmed.
   *  Rejects `store_unavailable` after 5 s of replacement, or without an answer of a host's own check. */
  verify(name: TokenName, candidate: string): Promise<number | false>;
  info(name: TokenName): TokenInfo;
  /** Those that were claimed, in that order. */
  names(): readonly TokenName[];
  /** Reads the places again. Rejects what reading them rejects. */
  describe(name: TokenName): Promise<TokenDescription>;
  /** 32 bytes: HMAC-SHA-256(salt, token). A rotation changes it. `salt`: by default 32 random bytes of this process and
   *  purpose; a salt of the caller belongs to one purpose only. */
  derive(name: TokenName, purpose: string, salt?: Uint8Array): Uint8Array;
}

/** Showing and replacing tokens: named in the `needs` of whoever can. */
export interface TokenSecrets {
  reveal(name: TokenName): string | undefined;
  /** `keep` confirms a generated token; without `value` a fresh one is generated. `expect`: the version the caller saw.
   *  Rejects: `token_managed_by_env`, `busy`, `stale`, `weak_token`, `store_unavailable`. */
  replace(
    name: TokenName,
    change: ({ value?: string } | { keep: true }) & { expect: number; graceS?: number },
  ): Promise<TokenInfo>;
}

export interface ResolvedToken {
  readonly value: string;
  readonly source: TokenSource;
  /** The value was generated and its owner has neither confirmed nor replaced it. */
  readonly setupPending?: boolean;
}

export interface TokenLocation {
  readonly source: TokenSource;
  readonly value: string;
  /** Unix milliseconds: when the place was last written. */
  readonly changedAt?: number;
}

/** A token as its owner may know it, without its value. */
export interface TokenDescription extends TokenInfo {
  readonly name: TokenName;
  /** The environment variable that holds it or could. */
  readonly variable?: string;
  /** Unix milliseconds: when it was replaced or its place written. */
  readonly changedAt?: number;
  /** Why it is weak. */
  readonly concern?: string;
  /** Places of lower precedence that hold a value too, and whether it is the same one. */
  readonly others: readonly { readonly source: TokenSource; readonly same: boolean }[];
}

/** Where tokens live: `memory()`, `files()` or a host's own. One conformance suite tests them all. */
export interface TokenBackend {
  /** Called once, before anything else. */
  open?(log: Log): void;
  /** `held`: where the token in use came from. When that place as a whole is gone (file missing, empty, unreadable)
   *  it rejects: then nothing is known about the token. */
  resolve(name: TokenName, held?: TokenSource): Awaitable<ResolvedToken | undefined>;
  /** `first`: a generated token; one that stands in its place by now, from another process, is left there and is the
   *  answer. */
  write(
    name: TokenName,
    value: string,
    options: { setupPending: boolean; first?: true },
  ): Awaitable<ResolvedToken | void>;
  /** The label of a token this form has written; default: the label it had. */
  label?(name: TokenName): TokenSource;
  /** The environment variable that can hold the token, for sentences. */
  variable?(name: TokenName): string;
  /** Every place that holds a value now, highest first. */
  places?(name: TokenName): Awaitable<TokenLocation[]>;
  /** Tells names whose places may have changed, one at a time; also once at the start. */
  watch?(changed: (name: TokenName) => Awaitable<void>): Release;
  /** A host's own check, in place of a comparison. */
  verify?(name: TokenName, candidate: string): Awaitable<boolean>;
}

export type TokenStoreEvents = {
  /** A claim was answered. */
  "token-store:resolved": {
    name: TokenName;
    version: number;
    source: TokenSource;
    managedByEnv: boolean;
  };
  /** The new token is written and the old one no longer verifies. */
  "token-store:rotated": { name: TokenName; version: number; graceS: number };
  /** An edit took the token away and none is left. */
  "token-store:removed": { name: TokenName };
};

export type TokenStoreShape = {
  drives: true;
  emits: TokenStoreEvents;
  offers: { tokens: Tokens; tokenSecrets: TokenSecrets };
};
