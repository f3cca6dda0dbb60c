/** Types and events of the token services, and the interface of token backends. */
import type { Awaitable, Log, Release } from "../../kernel/index.ts";

/** `launcher`, `metrics`, or the name of a channel: `pico`, `pico_client`, … */
export type TokenName = string;
/** Origin of a token. */
export type TokenSource = "env" | "security" | "config" | "random" | "host" | "none";

/** State of a token, without its value. */
export interface TokenInfo {
  /** Grows by one with every replacement; 0 if there is no token. */
  readonly version: number;
  /** Where the value in use came from; `none` without a value. */
  readonly source: TokenSource;
  /** True if an environment variable sets it, so that it cannot be replaced here. */
  readonly managedByEnv: boolean;
}

/** A person to whom a token belongs. */
export interface TokenPerson {
  /** The same for all devices of the person: 1 to 128 bytes without control characters, no secret.
   *  The sender is `host:ID`, as with `identify`. */
  readonly id: string;
  /** A name for people. At most 200 characters are kept. */
  readonly name?: string;
}

/** A token that matched. */
export interface TokenMatch {
  /** Version of the token that the candidate matches. */
  readonly version: number;
  /** The person that the check of the host named; absent for the token itself. */
  readonly person?: TokenPerson;
}

/** The token service. It never returns a token: callers learn which version matched. */
export interface Tokens {
  /**
   * Claims a token; called in `start()`. The store reads, generates and writes claimed tokens only.
   *
   * @param options.generate - Generates and stores the token if there is none.
   * @param options.exposed - True if other machines can connect and so try to guess the token.
   * @throws token_claimed_twice if another plugin has claimed the token.
   * @throws token_too_short if an exposed token has fewer than 8 characters.
   */
  claim(name: TokenName, options?: { generate?: true; exposed?: boolean }): Promise<TokenInfo>;
  /**
   * Compares a candidate in constant time. White space around the candidate is ignored. The token
   * of a person, whom the check of a host names, does not match: use `match` for these.
   *
   * @returns The version that the candidate matches, or `false`.
   * @throws store_unavailable if a rotation, or the check of a host, takes longer than 5 s.
   */
  verify(name: TokenName, candidate: string): Promise<number | false>;
  /** Compares like `verify`, for channels that tell people apart. */
  match(name: TokenName, candidate: string): Promise<TokenMatch | false>;
  /** @returns The state of a claimed token. */
  info(name: TokenName): TokenInfo;
  /** @returns The claimed tokens, in the order of the claims. */
  names(): readonly TokenName[];
  /** Reads the locations of the token again. Rejects with the error of reading them. */
  describe(name: TokenName): Promise<TokenDescription>;
  /**
   * Derives a key of 32 bytes: HMAC-SHA-256(salt, token). It changes with each rotation.
   *
   * @param salt - Use each salt for one purpose only. @defaultValue 32 random bytes per process
   *   and purpose.
   */
  derive(name: TokenName, purpose: string, salt?: Uint8Array): Uint8Array;
}

/** Reads and replaces token values. A plugin that may do so names this service in its `needs`. */
export interface TokenSecrets {
  /** @returns The token, or undefined if there is none. */
  reveal(name: TokenName): string | undefined;
  /**
   * Replaces a token.
   *
   * @param change.value - The new token. @defaultValue a generated token
   * @param change.keep - Confirms a generated token without changing it.
   * @param change.expect - The version that the caller has read.
   * @param change.graceS - Seconds before connections of the old token close. @defaultValue `0`
   * @throws token_managed_by_env if the token comes from the environment.
   * @throws busy if another replacement is in progress.
   * @throws stale if `expect` is not the current version.
   * @throws weak_token if the value breaks a rule of `weakTokenReason`.
   * @throws store_unavailable if the backend cannot write.
   */
  replace(
    name: TokenName,
    change: ({ value?: string } | { keep: true }) & { expect: number; graceS?: number },
  ): Promise<TokenInfo>;
}

/** The other nodes, where several share their sessions. */
export interface TokenPeers {
  /**
   * Compares a token with that of the other nodes. A value that they do not know replaces theirs.
   *
   * @param value - The token of this node. Undefined: it has none.
   * @param graceS - Seconds before connections of the old token close on the other nodes.
   * @returns The token of all nodes; undefined if no node has one.
   * @throws store_unavailable if the shared store is away.
   */
  exchange(name: TokenName, value: string | undefined, graceS: number): Promise<string | undefined>;
}

/**
 * Keeps the tokens of channels equal on several nodes. The tokens `launcher`, `metrics` and
 * `pico_client` belong to one node each.
 */
export interface TokenSync {
  /** Connects the store with the other nodes, before a token is claimed. At most once. */
  connect(peers: TokenPeers): void;
  /** Another node has replaced a token. */
  received(name: TokenName, value: string, graceS: number): Promise<void>;
  /** Compares all claimed tokens through `exchange`: this node was away. */
  compare(exchange: TokenPeers["exchange"]): Promise<void>;
}

/** A token as a backend returns it. */
export interface ResolvedToken {
  /** The token, a secret. White space around it is ignored, and blank text counts as no token. */
  readonly value: string;
  /** Location that the value was read from; it is shown to users. */
  readonly source: TokenSource;
  /** True if the value was generated, and its owner has neither confirmed nor replaced it. */
  readonly setupPending?: boolean;
}

/** A location that contains a value of a token. */
export interface TokenLocation {
  /** Which location it is; the order of precedence is env, security, config. */
  readonly source: TokenSource;
  /** The value at this location. A secret. */
  readonly value: string;
  /** Unix milliseconds of the last write. */
  readonly changedAt?: number;
}

/** A token as pages and commands show it, without its value. */
export interface TokenDescription extends TokenInfo {
  /** Name under which a plugin claimed the token. */
  readonly name: TokenName;
  /** The environment variable that can set it. */
  readonly variable?: string;
  /** Unix milliseconds of the last replacement, or of the last write of its location. */
  readonly changedAt?: number;
  /** Why it is weak. */
  readonly concern?: string;
  /** Other locations that contain a value, and whether that value is the same. */
  readonly others: readonly { readonly source: TokenSource; readonly same: boolean }[];
}

/** A token storage: `memory()`, `files()`, `environment()` or one of a host. */
export interface TokenBackend {
  /** Runs once, before all other calls. */
  open?(log: Log): void;
  /**
   * Reads a token.
   *
   * @param held - Source of the token in use. If that location is gone (file missing, empty or
   *   unreadable) the call rejects, because nothing is known about the token.
   */
  resolve(name: TokenName, held?: TokenSource): Awaitable<ResolvedToken | undefined>;
  /**
   * Stores a token.
   *
   * @param options.first - Set for a generated token: if another process has stored one in the
   *   meantime, the backend keeps and returns that one.
   */
  write(
    name: TokenName,
    value: string,
    options: { setupPending: boolean; first?: true },
  ): Awaitable<ResolvedToken | void>;
  /** Returns the source of a token that this backend has written. @defaultValue the old source */
  label?(name: TokenName): TokenSource;
  /** Returns the environment variable that can set the token, for messages. */
  variable?(name: TokenName): string;
  /** Returns all locations that contain a value, in the order of precedence. */
  places?(name: TokenName): Awaitable<TokenLocation[]>;
  /** Reports tokens whose locations may have changed, one at a time, and once at the start. */
  watch?(changed: (name: TokenName) => Awaitable<void>): Release;
  /**
   * Checks a candidate instead of the comparison of the store. A person may use the channels only,
   * and there the own sessions; `true` is the token itself. For `launcher` and `metrics` a person
   * counts as `false`.
   */
  verify?(name: TokenName, candidate: string): Awaitable<boolean | TokenPerson>;
}

/** Events of the token store. */
export type TokenStoreEvents = {
  /** A plugin claimed a token, and its source is known. `version` is 0 without a token. */
  "token-store:resolved": {
    name: TokenName;
    version: number;
    source: TokenSource;
    managedByEnv: boolean;
  };
  /**
   * The new token is stored, and the old one no longer verifies. `version`: of the new token.
   * `graceS`: seconds over which connections of the old token close.
   */
  "token-store:rotated": { name: TokenName; version: number; graceS: number };
  /** An edit removed the token `name`, and no location contains another one. */
  "token-store:removed": { name: TokenName };
};

/** The plugin shape of the token store. */
export type TokenStoreShape = {
  /** The launcher state follows the launcher token. */
  drives: true;
  /** Claims, rotations and removals, without values. */
  emits: TokenStoreEvents;
  /**
   * `tokens` verifies tokens and may go to any plugin. `tokenSecrets` reveals and replaces them.
   * `tokenSync` passes values to other nodes.
   */
  offers: { tokens: Tokens; tokenSecrets: TokenSecrets; tokenSync: TokenSync };
};
