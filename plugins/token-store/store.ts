/** Claims, verifies and replaces tokens. The only module of the process that holds their values. */
import type { Awaitable, Release, Scope } from "../../kernel/index.ts";
import { isPersonId, toPrintable } from "../../lib/util.ts";
import { tokenErrors } from "./errors.ts";
import {
  checkFailedError,
  notCheckedError,
  replacements,
  storeUnavailableError,
} from "./replacement.ts";
import type {
  ResolvedToken,
  TokenBackend,
  TokenInfo,
  TokenMatch,
  TokenName,
  TokenPerson,
  TokenSecrets,
  TokenStoreShape,
  Tokens,
} from "./service.ts";
import {
  createComparison,
  createTokenRecord,
  describeToken,
  generateToken,
  setToken,
  tokenWarning,
  toTokenInfo,
  unusableReason,
  weakTokenReason,
  type TokenRecord,
} from "./token.ts";
import { PeerTokens } from "./peers.ts";
import { TokenWatcher } from "./watch.ts";

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
  private readonly watcher: TokenWatcher;
  readonly sync: PeerTokens;

  constructor(backend: TokenBackend, scope: Scope<TokenStoreShape>) {
    this.backend = backend;
    this.scope = scope;
    backend.open?.(scope.log);
    this.sync = new PeerTokens(backend, scope, this.records);
    this.watcher = new TokenWatcher(backend, scope, this.records, this.sync);
  }

  isClaimed(name: TokenName): boolean {
    return this.records.has(name);
  }

  /** Follows edits of the locations from now on. */
  watch(): Release {
    return this.backend.watch?.((name) => this.watcher.check(name)) ?? (() => undefined);
  }

  tokens(): Tokens {
    return {
      claim: (name, options) => this.claim(name, options),
      verify: async (name, candidate) => {
        const match = await this.match(name, candidate);
        return match !== false && match.person === undefined ? match.version : false;
      },
      match: (name, candidate) => this.match(name, candidate),
      info: (name) => toTokenInfo(this.record(name)),
      names: () => [...this.records.keys()],
      describe: (name) => describeToken(this.backend, name, this.record(name)),
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
    const token = createTokenRecord(exposed);
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
      setToken(token, value);
      token.source = found.source;
      token.setupPending = found.setupPending ?? false;
      const warning = tokenWarning(name, value);
      if (warning)
        log.warn({ name, source: found.source }, `the ${name} token is weak: ${warning}`);
    } else if (backend.verify) {
      token.source = "host";
      token.version = 1;
    }
    if (token.source === "env") await this.watcher.checkBelowEnvironment(name);
    // Without a token the launcher stays unconfigured: no candidate could match.
    if (name === "launcher" && token.version > 0) {
      lifecycle.send(token.setupPending ? "begin-setup" : "accept-credentials");
    }
    const info = toTokenInfo(token);
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
    if (!backend.verify)
      return token.compare?.matches(candidate) ? { version: token.version } : false;
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

  private derive(name: TokenName, purpose: string, given?: Uint8Array): Uint8Array {
    const token = this.record(name);
    const salt = given ?? token.salts.get(purpose) ?? this.scope.random(32);
    if (!given) token.salts.set(purpose, salt);
    return token.compare?.derive(salt) ?? createComparison("").derive(salt);
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
        setToken(token, next);
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
    return toTokenInfo(token);
  }
}
