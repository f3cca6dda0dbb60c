/** Keeps the tokens of channels equal on the nodes that share a store. */
import { codeOf, type Scope } from "../../kernel/index.ts";
import type { TokenBackend, TokenName, TokenPeers, TokenStoreShape, TokenSync } from "./service.ts";
import type { TokenRecord } from "./store.ts";
import { unusableReason } from "./token.ts";

/** Tokens that belong to one node. */
const ownTokens: ReadonlySet<TokenName> = new Set(["launcher", "metrics", "pico_client"]);

export class PeerTokens implements TokenSync {
  private readonly backend: TokenBackend;
  private readonly scope: Scope<TokenStoreShape>;
  private readonly records: ReadonlyMap<TokenName, TokenRecord>;
  /** True if this node shares its tokens with others. */
  isConnected = false;
  private peers: TokenPeers | undefined;

  constructor(
    backend: TokenBackend,
    scope: Scope<TokenStoreShape>,
    records: ReadonlyMap<TokenName, TokenRecord>,
  ) {
    this.backend = backend;
    this.scope = scope;
    this.records = records;
  }

  connect(peers: TokenPeers): void {
    this.peers = peers;
    this.isConnected = true;
  }

  /**
   * Compares a token that is being claimed.
   *
   * @returns The token of all nodes, which may be the given one.
   */
  async claimed(name: TokenName, value: string | undefined): Promise<string | undefined> {
    if (!this.peers || !this.isShared(name)) return value;
    const current = await this.peers.exchange(name, value, 0);
    if (current === undefined || current === value) return value;
    if (value !== undefined) this.warnSuperseded(name);
    await this.write(name, current);
    return current;
  }

  /** A token was replaced here. The other nodes learn of it now, or when the store is back. */
  replaced(name: TokenName, value: string, graceS: number): void {
    if (!this.peers || !this.isShared(name)) return;
    this.peers.exchange(name, value, graceS).catch((error: unknown) => {
      const text = `the other nodes have not received the new ${name} token yet`;
      this.scope.log.warn({ name, code: codeOf(error) }, text);
    });
  }

  async received(name: TokenName, value: string, graceS: number): Promise<void> {
    const token = this.records.get(name);
    if (!token || !this.isShared(name)) return;
    await token.replacing;
    // A token that was removed here stays removed until the next start.
    if (token.value === undefined || token.value === value) return;
    const reason = unusableReason(value, token.isExposed);
    if (reason) {
      const text = `rejected the ${name} token of another node, the old one stays: ${reason}`;
      return this.scope.log.warn({ name }, text);
    }
    token.set(value);
    token.changedAt = this.scope.clock.now();
    this.scope.emit("token-store:rotated", { name, version: token.version, graceS });
    this.scope.log.info({ name }, `another node replaced the ${name} token`);
    await this.write(name, value);
  }

  async compare(exchange: TokenPeers["exchange"]): Promise<void> {
    for (const [name, token] of this.records) {
      if (!this.isShared(name) || token.value === undefined) continue;
      await token.replacing;
      const current = await exchange(name, token.value, 0);
      if (current === undefined || current === token.value) continue;
      this.warnSuperseded(name);
      await this.received(name, current, 0);
    }
  }

  private isShared(name: TokenName): boolean {
    return !ownTokens.has(name) && !this.backend.verify;
  }

  private warnSuperseded(name: TokenName): void {
    const text = `the ${name} token of this node is out of date: another node has replaced it`;
    this.scope.log.warn({ name, source: this.records.get(name)?.source }, text);
  }

  /** The environment cannot be written: this node uses the value until it stops. */
  private async write(name: TokenName, value: string): Promise<void> {
    const token = this.records.get(name);
    if (token?.source === "env") return;
    try {
      await this.backend.write(name, value, { setupPending: false });
      if (token) token.source = this.backend.label?.(name) ?? token.source;
    } catch (error) {
      const text = `the new ${name} token of another node could not be stored here`;
      this.scope.log.error({ name, code: codeOf(error) }, text);
    }
  }
}
