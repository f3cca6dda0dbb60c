/**
 * Claims, verifies and replaces tokens, and follows edits of their locations. The only module of
 * the process that holds their values.
 */
import { createHmac, hash, timingSafeEqual } from "node:crypto";
import {
  codeOf,
  type Awaitable,
  type ErrorContext,
  type LauncherCommand,
  type LauncherState,
  type Log,
  type Release,
  type Scope,
} from "../../kernel/index.ts";
import { isPersonId, toPrintable } from "../../lib/util.ts";
import { tokenErrors } from "./errors.ts";
import { PeerTokens } from "./peers.ts";
import type {
  ResolvedToken,
  TokenBackend,
  TokenDescription,
  TokenInfo,
  TokenMatch,
  TokenName,
  TokenPerson,
  TokenSecrets,
  TokenSource,
  TokenStoreShape,
  Tokens,
} from "./service.ts";
import { generateToken, tokenWarning, unusableReason, weakTokenReason } from "./token.ts";

// UTF-16 keeps unpaired surrogates distinct; UTF-8 would turn all of them into the same character.
const digestOf = (text: string): Buffer => hash("sha256", Buffer.from(text, "utf16le"), "buffer");

/** A claimed token. */
export class TokenRecord {
  /** Whether other machines can connect and so try to guess the token. */
  readonly isExposed: boolean;
  value: string | undefined;
  /** 0 if there is no token. */
  version = 0;
  /** The highest version so far. The version of a removed token is never used again. */
  newest = 0;
  source: TokenSource = "none";
  setupPending = false;
  /** Unix milliseconds of the last replacement in this process. */
  changedAt: number | undefined;
  /** Settles with the current replacement; never rejects. */
  replacing: Promise<void> | undefined;
  readonly salts = new Map<string, Uint8Array>();
  /** Version and last warning of its locations. The same problem is read often and logged once. */
  reported: string | undefined;
  /** Digest of the locations below the environment. */
  belowEnvironment: string | undefined;
  private digest: Buffer | undefined;

  constructor(isExposed: boolean) {
    this.isExposed = isExposed;
  }

  set(value: string): void {
    this.value = value;
    this.digest = digestOf(value);
    this.newest += 1;
    this.version = this.newest;
  }

  clear(): void {
    this.value = undefined;
    this.digest = undefined;
    this.version = 0;
    this.source = "none";
  }

  /** Compares in constant time: digests of equal length, without early exit. */
  matches(candidate: string): boolean {
    return this.digest !== undefined && timingSafeEqual(digestOf(candidate.trim()), this.digest);
  }

  derive(salt: Uint8Array): Uint8Array {
    return createHmac("sha256", salt)
      .update(this.value ?? "", "utf8")
      .digest();
  }

  info(): TokenInfo {
    const { version, source } = this;
    return { version, source, managedByEnv: source === "env" };
  }
}

interface ReplacementCommands {
  readonly begin?: LauncherCommand;
  readonly finish: LauncherCommand;
  readonly abandon?: LauncherCommand;
}

/** State of the launcher -> commands that a rotation of the launcher token sends. */
const replacements: Readonly<Partial<Record<LauncherState, ReplacementCommands>>> = {
  unconfigured: { finish: "accept-credentials" },
  setup: { finish: "finish-setup" },
  running: { begin: "begin-rotation", finish: "finish-rotation", abandon: "abandon-rotation" },
};

const safeErrorCode = (error: unknown): string => {
  const code = String((error as { code?: unknown } | null)?.code ?? "");
  return /^[A-Z][A-Z_]{1,40}$/.test(code) ? code : "unknown";
};

const notStoredError = (reason: string, context?: ErrorContext): Error =>
  tokenErrors.store_unavailable("stored", reason, "The old one is still valid", context);
const notCheckedError = (reason: string): Error =>
  tokenErrors.store_unavailable("checked", reason, "Try again in a moment");

/** Hides the error of the host's check, because its message may contain the candidate. */
function checkFailedError(log: Log, name: TokenName, error: unknown): Error {
  log.error(
    { name, code: safeErrorCode(error) },
    `the ${name} token could not be checked: the host's check failed`,
  );
  return notCheckedError("the host's own check failed");
}

/** Hides the message of an unknown error from log and caller, because it may contain the token. */
function storeUnavailableError(log: Log, name: TokenName, error: unknown): Error {
  const known = codeOf(error) !== "internal";
  const reason = known ? { err: error } : { code: safeErrorCode(error) };
  log.error(
    { name, ...reason },
    `the ${name} token could not be replaced; the old one stays valid`,
  );
  return known
    ? notStoredError((error as Error).message.replace(/\.$/, ""), { cause: error })
    : notStoredError("its store failed");
}

/** Longest wait of a check for a replacement, or for the check of a host. */
const maxWaitMs = 5_000;

/** Tokens of the owner: no other person may use what they open. */
const ownerTokens: ReadonlySet<TokenName> = new Set(["launcher", "metrics"]);

/** Copies and checks the result of a host, which may be written in JavaScript. */
function toFound(found: unknown): boolean | TokenPerson {
  if (typeof found !== "object" || found === null) return found === true;
  const { id, name } = found as Partial<TokenPerson>;
  if (!isPersonId(id) || (name !== undefined && typeof name !== "string"))
    throw new TypeError("verify() must return a boolean, or a person with an id");
  return { id, ...(name !== undefined && { name: toPrintable(name) }) };
}

type TokenChange = Parameters<TokenSecrets["replace"]>[1];

export class TokenStore {
  private readonly backend: TokenBackend;
  private readonly scope: Scope<TokenStoreShape>;
  private readonly records = new Map<TokenName, TokenRecord>();
  readonly sync: PeerTokens;

  constructor(backend: TokenBackend, scope: Scope<TokenStoreShape>) {
    this.backend = backend;
    this.scope = scope;
    backend.open?.(scope.log);
    this.sync = new PeerTokens(backend, scope, this.records);
  }

  isClaimed(name: TokenName): boolean {
    return this.records.has(name);
  }

  /** Follows edits of the locations from now on. */
  watch(): Release {
    return this.backend.watch?.((name) => this.check(name)) ?? (() => undefined);
  }

  tokens(): Tokens {
    return {
      claim: (name, options) => this.claim(name, options),
      verify: async (name, candidate) => {
        const match = await this.match(name, candidate);
        return match !== false && match.person === undefined ? match.version : false;
      },
      match: (name, candidate) => this.match(name, candidate),
      info: (name) => this.record(name).info(),
      names: () => [...this.records.keys()],
      describe: (name) => this.describe(name),
      derive: (name, purpose, salt) => this.derive(name, purpose, salt),
    };
  }

  tokenSecrets(): TokenSecrets {
    return {
      reveal: (name) => this.record(name).value,
      replace: (name, change) => this.replace(name, change),
    };
  }

  private record(name: TokenName): TokenRecord {
    const found = this.records.get(name);
    if (!found) throw tokenErrors.token_unclaimed(name);
    return found;
  }

  private async claim(
    name: TokenName,
    { generate = false, exposed = false }: { generate?: boolean; exposed?: boolean } = {},
  ): Promise<TokenInfo> {
    const { backend, records, scope } = this;
    const { log, lifecycle } = scope;
    if (records.has(name)) throw tokenErrors.token_claimed_twice(name);
    const token = new TokenRecord(exposed);
    records.set(name, token);
    const resolved = await backend.resolve(name);
    token.source = resolved?.source ?? "none";
    const given = resolved?.value.trim() || undefined;
    const shared = await this.sync.claimed(name, given);
    const source = resolved?.source ?? backend.label?.(name) ?? "config";
    const stored = shared === given || shared === undefined ? resolved : { value: shared, source };
    const isMissing = !stored?.value.trim() && !backend.verify;
    const found = isMissing && generate ? await this.generate(name) : stored;
    const value = found?.value.trim();
    if (found && value) {
      if (unusableReason(value, exposed)) throw tokenErrors.token_too_short(name, found.source);
      token.set(value);
      token.source = found.source;
      token.setupPending = found.setupPending ?? false;
      const warning = tokenWarning(name, value);
      if (warning)
        log.warn({ name, source: found.source }, `the ${name} token is weak: ${warning}`);
    } else if (backend.verify) {
      token.source = "host";
      token.version = 1;
    }
    if (token.source === "env") await this.checkBelowEnvironment(name, token);
    // Without a token the launcher stays unconfigured: no candidate could match.
    if (name === "launcher" && token.version > 0) {
      lifecycle.send(token.setupPending ? "begin-setup" : "accept-credentials");
    }
    const info = token.info();
    const level = info.source === "none" ? "debug" : "info";
    log[level]({ name, source: info.source }, `${name} token source: ${info.source}`);
    scope.emit("token-store:resolved", { name, ...info });
    return info;
  }

  /** If two launchers start with one home at the same time, both use the token stored first. */
  private async generate(name: TokenName): Promise<ResolvedToken> {
    const value = generateToken(name, this.scope.random);
    const setupPending = name === "launcher";
    const before = await this.backend.write(name, value, { setupPending, first: true });
    return before ?? { value, source: "random", setupPending };
  }

  private async match(name: TokenName, candidate: string): Promise<TokenMatch | false> {
    const { backend } = this;
    const token = this.record(name);
    if (token.replacing) await this.withTimeout(token.replacing, "it is being replaced");
    if (candidate.trim() === "") return false;
    if (!backend.verify) return token.matches(candidate) && { version: token.version };
    const found = await this.verifyByHost(name, candidate.trim());
    if (typeof found === "boolean") return found && { version: token.version };
    return ownerTokens.has(name) ? false : { version: token.version, person: found };
  }

  private async verifyByHost(name: TokenName, candidate: string): Promise<boolean | TokenPerson> {
    try {
      const result = this.backend.verify?.(name, candidate);
      const found = await this.withTimeout(result, "the host's own check does not answer");
      return toFound(found);
    } catch (error) {
      throw checkFailedError(this.scope.log, name, error);
    }
  }

  /** Waits for `work`; rejects after 5 s. */
  private async withTimeout<T>(work: Awaitable<T>, reason: string): Promise<T> {
    let cancel = (): void => undefined;
    const timeout = new Promise<never>((_, reject) => {
      cancel = this.scope.after(maxWaitMs, () => reject(notCheckedError(reason)));
    });
    try {
      return await Promise.race([work, timeout]);
    } finally {
      cancel();
    }
  }

  /** Reads the locations of the backend again. */
  private async describe(name: TokenName): Promise<TokenDescription> {
    const token = this.record(name);
    const locations = (await this.backend.places?.(name)) ?? [];
    const label = token.source === "random" ? "config" : token.source;
    const current = locations.find(({ source }) => source === label);
    const changedAt = token.changedAt ?? current?.changedAt;
    const variable = this.backend.variable?.(name);
    const concern = token.value === undefined ? undefined : tokenWarning(name, token.value);
    return {
      name,
      ...token.info(),
      ...(variable === undefined ? {} : { variable }),
      ...(changedAt === undefined ? {} : { changedAt }),
      ...(concern === undefined ? {} : { concern }),
      others: locations
        .filter((location) => location !== current)
        .map(({ source, value }) => ({ source, same: token.matches(value) })),
    };
  }

  private derive(name: TokenName, purpose: string, given?: Uint8Array): Uint8Array {
    const token = this.record(name);
    const salt = given ?? token.salts.get(purpose) ?? this.scope.random(32);
    if (!given) token.salts.set(purpose, salt);
    return token.derive(salt);
  }

  /** @returns The new value; for `keep`, the current one. */
  private assertReplaceable(name: TokenName, token: TokenRecord, change: TokenChange): string {
    if (token.source === "env")
      throw tokenErrors.token_managed_by_env(name, this.backend.variable?.(name) ?? "of its name");
    if (token.replacing) throw tokenErrors.busy(name);
    if (change.expect !== token.version) throw tokenErrors.stale(name);
    const keep = "keep" in change;
    const next = keep
      ? token.value
      : (change.value?.trim() ?? generateToken(name, this.scope.random));
    if (next === undefined) throw tokenErrors.stale(name);
    const reason = keep ? undefined : weakTokenReason(next);
    if (reason) throw tokenErrors.weak_token(reason);
    return next;
  }

  private async replace(name: TokenName, change: TokenChange): Promise<TokenInfo> {
    const { backend, scope } = this;
    const { log, lifecycle } = scope;
    const token = this.record(name);
    const next = this.assertReplaceable(name, token, change);
    const commands = name === "launcher" ? replacements[lifecycle.state()] : undefined;
    if (commands?.begin && !lifecycle.send(commands.begin)) throw tokenErrors.busy(name);
    let finish = (): void => undefined;
    token.replacing = new Promise((resolve) => {
      finish = resolve;
    });
    try {
      await backend.write(name, next, { setupPending: false });
      token.setupPending = false;
      if (!("keep" in change)) {
        token.source = backend.label?.(name) ?? token.source;
        token.set(next);
        token.changedAt = scope.clock.now();
        const { graceS = 0 } = change;
        scope.emit("token-store:rotated", { name, version: token.version, graceS });
        if (this.sync.isConnected) this.sync.replaced(name, next, graceS);
      }
      if (commands) lifecycle.send(commands.finish);
    } catch (error) {
      if (commands?.abandon) lifecycle.send(commands.abandon);
      throw storeUnavailableError(log, name, error);
    } finally {
      token.replacing = undefined;
      finish();
    }
    return token.info();
  }

  /** Reads the locations of a token and applies an edit. */
  private async check(name: TokenName): Promise<void> {
    const token = this.records.get(name);
    if (!token) return;
    if (token.source === "env") return this.checkBelowEnvironment(name, token);
    const result = await this.read(name, token);
    if (!result) return;
    const value = result.found?.value.trim();
    if (!result.found || !value) return token.version > 0 ? this.remove(name, token) : undefined;
    const reason = unusableReason(value, token.isExposed);
    if (reason)
      return this.warnOnce(
        name,
        token,
        `rejected the new ${name} token, the old one stays: ${reason}`,
      );
    token.reported = undefined;
    if (value === token.value) this.confirm(name, token, result.found);
    else this.adopt(name, token, result.found, value);
  }

  /**
   * Logs once that an edit of the files has no effect on a token from the environment. The first
   * call, when the token is claimed, only stores what the files contain.
   */
  private async checkBelowEnvironment(name: TokenName, token: TokenRecord): Promise<void> {
    const locations = await Promise.resolve(this.backend.places?.(name) ?? []).catch(() => []);
    const stored = locations
      .flatMap(({ source, value }) => (source === "env" ? [] : [value]))
      .join("\n");
    const before = token.belowEnvironment;
    token.belowEnvironment = hash("sha256", stored, "base64");
    if (before === undefined || before === token.belowEnvironment || token.reported) return;
    token.reported = "env";
    this.scope.log.info(
      { name },
      `the ${name} token comes from the environment: an edit of the files changes nothing`,
    );
  }

  private warnOnce(name: TokenName, token: TokenRecord, text: string): void {
    // After a rotation, which the backend does not report, the same mistake is a new one.
    const warning = `${token.version} ${text}`;
    if (token.reported === warning) return;
    token.reported = warning;
    this.scope.log.warn({ name }, text);
  }

  /**
   * Reads the locations, again if the token was replaced in the meantime.
   *
   * @returns Undefined if the locations cannot be read.
   */
  private async read(
    name: TokenName,
    token: TokenRecord,
  ): Promise<{ found: ResolvedToken | undefined } | undefined> {
    for (;;) {
      await token.replacing;
      const { newest } = token;
      try {
        const found = await this.backend.resolve(name, token.source);
        if (token.replacing === undefined && token.newest === newest) return { found };
      } catch (error) {
        const reason =
          codeOf(error) === "internal" ? "" : ` (${(error as Error).message.replace(/\.$/, "")})`;
        if (token.version > 0)
          this.warnOnce(
            name,
            token,
            `the ${name} token stays as it was: its file is not usable${reason}`,
          );
        return undefined;
      }
    }
  }

  private adopt(name: TokenName, token: TokenRecord, found: ResolvedToken, value: string): void {
    const { log, lifecycle, emit, clock } = this.scope;
    const state = lifecycle.state();
    // Another launcher of this home has generated a token, and its owner has not confirmed it yet.
    const isPending = state === "setup" && found.setupPending === true;
    const commands = name === "launcher" && !isPending ? replacements[state] : undefined;
    if (commands?.begin) lifecycle.send(commands.begin);
    token.set(value);
    token.source = found.source;
    token.setupPending = isPending;
    token.changedAt = clock.now();
    emit("token-store:rotated", { name, version: token.version, graceS: 0 });
    if (this.sync.isConnected) this.sync.replaced(name, value, 0);
    if (commands) lifecycle.send(commands.finish);
    log.info({ name, source: found.source }, `an edit replaced the ${name} token`);
    const warning = tokenWarning(name, value);
    if (warning) log.warn({ name, source: found.source }, `the ${name} token is weak: ${warning}`);
  }

  /** The value is unchanged, but its source may differ, or its owner may have confirmed it. */
  private confirm(name: TokenName, token: TokenRecord, found: ResolvedToken): void {
    const { log, lifecycle } = this.scope;
    if (token.source !== "random") token.source = found.source;
    if (!token.setupPending || found.setupPending) return;
    token.setupPending = false;
    if (name === "launcher" && lifecycle.send("finish-setup"))
      log.info({ name }, "an edit finished the setup");
  }

  private remove(name: TokenName, token: TokenRecord): void {
    if (name === "launcher")
      return this.warnOnce(
        name,
        token,
        `the ${name} token stays as it was: its file contains none`,
      );
    token.clear();
    this.scope.emit("token-store:removed", { name });
    this.scope.log.warn({ name }, `an edit removed the ${name} token: it no longer grants access`);
  }
}
