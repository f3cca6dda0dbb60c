import type { Awaitable, Release, Scope } from "../../kernel/index.ts";
import { tokenErrors } from "./errors.ts";
import {
  checkFailedError,
  notCheckedError,
  replacements,
  storeUnavailableError,
} from "./replacement.ts";
import { generateToken, isGuessable, tokenWarning, weakTokenReason } from "./rules.ts";
import type {
  ResolvedToken,
  TokenBackend,
  TokenInfo,
  TokenName,
  TokenStoreShape,
  Tokens,
} from "./service.ts";
import {
  createComparison,
  createTokenRecord,
  describeToken,
  setToken,
  toTokenInfo,
  type TokenRecord,
} from "./token.ts";
import { watchTokens } from "./watch.ts";

/** Longest wait of a check, for a replacement under way or for a host's own answer. */
const maxWaitMs = 5_000;

type Store = TokenStoreShape["offers"] & {
  claimed(name: TokenName): boolean;
  /** Follows edits of the places from now on. */
  watch(): Release;
};

/** Claimed tokens in memory: the one place in the process that holds their values. */
export function createStore(form: TokenBackend, scope: Scope<TokenStoreShape>): Store {
  const { log, lifecycle } = scope;
  form.open?.(log);
  const tokens = new Map<TokenName, TokenRecord>();
  const watching = watchTokens(form, scope, tokens);

  const held = (name: TokenName): TokenRecord => {
    const found = tokens.get(name);
    if (!found) throw tokenErrors.token_unclaimed(name);
    return found;
  };
  const info = (name: TokenName): TokenInfo => toTokenInfo(held(name));

  /** Of two launchers that start at once with one home the first makes the token. */
  async function make(name: TokenName): Promise<ResolvedToken> {
    const value = generateToken(name, scope.random);
    const setupPending = name === "launcher";
    const before = await form.write(name, value, { setupPending, first: true });
    return before ?? { value, source: "random", setupPending };
  }

  const claim: Tokens["claim"] = async (name, { generate: wanted, exposed = false } = {}) => {
    if (tokens.has(name)) throw tokenErrors.token_claimed_twice(name);
    const token = createTokenRecord();
    tokens.set(name, token);
    const stored = await form.resolve(name);
    const isMissing = !stored?.value.trim() && !form.verify;
    const found = isMissing && wanted ? await make(name) : stored;
    const value = found?.value.trim();
    if (found && value) {
      if (exposed && isGuessable(value)) throw tokenErrors.token_too_short(name, found.source);
      setToken(token, value);
      token.source = found.source;
      token.setupPending = found.setupPending ?? false;
      const doubt = tokenWarning(name, value);
      if (doubt) log.warn({ name, source: found.source }, `the ${name} token is weak: ${doubt}`);
    } else if (form.verify) {
      token.source = "host";
      token.version = 1;
    }
    if (token.source === "env") await watching.note(name);
    // Without any token the launcher stays unconfigured: nothing could be compared with a candidate.
    if (name === "launcher" && token.version > 0) {
      lifecycle.send(token.setupPending ? "begin-setup" : "accept-credentials");
    }
    const answer = info(name);
    log.info({ name, source: answer.source }, `${name} token source: ${answer.source}`);
    scope.emit("token-store:resolved", { name, ...answer });
    return answer;
  };

  /** What a check waits for, such as the replacement under way; rejects after five seconds of it. */
  async function inTime<T>(work: Awaitable<T>, reason: string): Promise<T> {
    let cancel = (): void => undefined;
    const tooLong = new Promise<never>((_, reject) => {
      cancel = scope.after(maxWaitMs, () => reject(notCheckedError(reason)));
    });
    try {
      return await Promise.race([work, tooLong]);
    } finally {
      cancel();
    }
  }

  async function ask(name: TokenName, candidate: string): Promise<boolean> {
    try {
      return (
        (await inTime(form.verify?.(name, candidate), "the host's own check does not answer")) ??
        false
      );
    } catch (error) {
      throw checkFailedError(log, name, error);
    }
  }

  async function verify(name: TokenName, candidate: string): Promise<number | false> {
    const token = held(name);
    if (token.replacing) await inTime(token.replacing, "it is being replaced");
    if (candidate.trim() === "") return false;
    if (form.verify) return (await ask(name, candidate.trim())) ? token.version : false;
    return token.compare?.matches(candidate) ? token.version : false;
  }

  async function replace(
    name: TokenName,
    change: ({ value?: string } | { keep: true }) & { expect: number; graceS?: number },
  ): Promise<TokenInfo> {
    const token = held(name);
    if (token.source === "env")
      throw tokenErrors.token_managed_by_env(name, form.variable?.(name) ?? "of its name");
    if (token.replacing) throw tokenErrors.busy(name);
    if (change.expect !== token.version) throw tokenErrors.stale(name);
    const keep = "keep" in change;
    const next = keep ? token.value : (change.value?.trim() ?? generateToken(name, scope.random));
    if (next === undefined) throw tokenErrors.stale(name);
    const weak = keep ? undefined : weakTokenReason(next);
    if (weak) throw tokenErrors.weak_token(weak);

    const life = name === "launcher" ? replacements[lifecycle.state()] : undefined;
    if (life?.begin && !lifecycle.send(life.begin)) throw tokenErrors.busy(name);
    let done = (): void => undefined;
    token.replacing = new Promise((resolve) => {
      done = resolve;
    });
    try {
      await form.write(name, next, { setupPending: false });
      token.setupPending = false;
      if (!keep) {
        token.source = form.label?.(name) ?? token.source;
        setToken(token, next);
        token.changedAt = scope.clock.now();
        scope.emit("token-store:rotated", {
          name,
          version: token.version,
          graceS: change.graceS ?? 0,
        });
      }
      if (life) lifecycle.send(life.finish);
    } catch (error) {
      if (life?.abandon) lifecycle.send(life.abandon);
      throw storeUnavailableError(log, name, error);
    } finally {
      token.replacing = undefined;
      done();
    }
    return info(name);
  }

  return {
    watch: () => form.watch?.(watching.look) ?? (() => undefined),
    claimed: (name) => tokens.has(name),
    tokens: {
      claim,
      verify,
      info,
      names: () => [...tokens.keys()],
      describe: (name) => describeToken(form, name, held(name)),
      derive(name, purpose, given) {
        const token = held(name);
        const salt = given ?? token.salts.get(purpose) ?? scope.random(32);
        if (!given) token.salts.set(purpose, salt);
        return token.compare?.derive(salt) ?? createComparison("").derive(salt);
      },
    },
    tokenSecrets: { reveal: (name) => held(name).value, replace },
  };
}
