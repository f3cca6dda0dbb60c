/** Applies edits of token files while the kernel runs. */
import { createHash } from "node:crypto";
import { codeOf, type Scope } from "../../kernel/index.ts";
import type { PeerTokens } from "./peers.ts";
import { replacements } from "./replacement.ts";
import type { ResolvedToken, TokenBackend, TokenName, TokenStoreShape } from "./service.ts";
import { clearToken, setToken, tokenWarning, unusableReason, type TokenRecord } from "./token.ts";

/** Compares the locations of a backend with the tokens in use. */
export class TokenWatcher {
  private readonly backend: TokenBackend;
  private readonly scope: Scope<TokenStoreShape>;
  private readonly tokens: ReadonlyMap<TokenName, TokenRecord>;
  private readonly peers: Pick<PeerTokens, "replaced" | "isConnected">;
  /** Name -> version and last warning. The same problem is read often and logged once. */
  private readonly reported = new Map<TokenName, string>();
  /** Name -> digest of the locations below the environment. */
  private readonly digests = new Map<TokenName, string>();

  constructor(
    backend: TokenBackend,
    scope: Scope<TokenStoreShape>,
    tokens: ReadonlyMap<TokenName, TokenRecord>,
    peers: Pick<PeerTokens, "replaced" | "isConnected">,
  ) {
    this.peers = peers;
    this.backend = backend;
    this.scope = scope;
    this.tokens = tokens;
  }

  /** Reads the locations of a token and applies an edit. */
  async check(name: TokenName): Promise<void> {
    const token = this.tokens.get(name);
    if (!token) return;
    if (token.source === "env") return this.checkBelowEnvironment(name);
    const result = await this.read(name, token);
    if (!result) return;
    const value = result.found?.value.trim();
    if (!result.found || !value) return token.version > 0 ? this.remove(name, token) : undefined;
    const reason = unusableReason(value, token.isExposed);
    if (reason)
      return this.warnOnce(name, `rejected the new ${name} token, the old one stays: ${reason}`);
    this.reported.delete(name);
    if (value === token.value) this.confirm(name, token, result.found);
    else this.adopt(name, token, result.found, value);
  }

  /**
   * Logs once that an edit of the files has no effect on a token from the environment. The first
   * call, when the token is claimed, only stores what the files contain.
   */
  async checkBelowEnvironment(name: TokenName): Promise<void> {
    const { backend, digests, reported, scope } = this;
    const locations = await Promise.resolve(backend.places?.(name) ?? []).catch(() => []);
    const stored = locations
      .flatMap(({ source, value }) => (source === "env" ? [] : [value]))
      .join("\n");
    const digest = createHash("sha256").update(stored).digest("base64");
    const before = digests.get(name);
    digests.set(name, digest);
    if (before === undefined || before === digest || reported.has(name)) return;
    reported.set(name, "env");
    scope.log.info(
      { name },
      `the ${name} token comes from the environment: an edit of the files changes nothing`,
    );
  }

  private warnOnce(name: TokenName, text: string): void {
    // After a rotation, which the backend does not report, the same mistake is a new one.
    const warning = `${this.tokens.get(name)?.version} ${text}`;
    if (this.reported.get(name) === warning) return;
    this.reported.set(name, warning);
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
          this.warnOnce(name, `the ${name} token stays as it was: its file is not usable${reason}`);
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
    setToken(token, value);
    token.source = found.source;
    token.setupPending = isPending;
    token.changedAt = clock.now();
    emit("token-store:rotated", { name, version: token.version, graceS: 0 });
    if (this.peers.isConnected) this.peers.replaced(name, value, 0);
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
      return this.warnOnce(name, `the ${name} token stays as it was: its file contains none`);
    clearToken(token);
    this.scope.emit("token-store:removed", { name });
    this.scope.log.warn({ name }, `an edit removed the ${name} token: it no longer grants access`);
  }
}
