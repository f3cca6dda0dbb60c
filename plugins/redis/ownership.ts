// Hands sessions to nodes in Redis, with a fence that refuses what a former owner still does.
import { codeOf, type Clock, type Release } from "../../kernel/index.ts";
import { keyOf } from "../../lib/util.ts";
import { conversationsErrors } from "../conversations/errors.ts";
import type {
  Address,
  AnswerResult,
  GivenAnswer,
  OwnershipListener,
  OpenQuestion,
  RunningMessage,
  Stopper,
  SessionOwnership,
  StopResult,
} from "../conversations/contract.ts";
import type { Reply } from "./driver.ts";
import type { KeySpace } from "./keys.ts";
import type { RedisLink } from "./link.ts";
import type { Nodes } from "./nodes.ts";
import { Passes } from "./passes.ts";

interface OwnershipOptions {
  readonly link: RedisLink;
  readonly space: KeySpace;
  readonly nodes: Nodes;
  readonly clock: Clock;
  readonly after: (ms: number, run: () => void) => Release;
  readonly keepMs: number;
}

interface OwnedSession {
  readonly address: Address;
  readonly sk: string;
  fence: string;
  usedAt: number;
  /** Set when another node has taken the session: the fence is kept, so that it refuses. */
  isLost: boolean;
  /** Claims that wait until the lost session is no longer worked on. */
  waiting: (() => void)[];
}

/** How long a session stays with its node after its last message, and how often that is checked. */
const keptMs = 60_000;
const sweepMs = 10_000;
/** How often the owner of a session is asked while the session moves. */
const maxAskAttempts = 3;

export class RedisOwnership implements SessionOwnership {
  takenOver = 0;
  private readonly options: OwnershipOptions;
  private readonly passes: Passes;
  private readonly owned = new Map<string, OwnedSession>();
  private readonly bySk = new Map<string, OwnedSession>();
  private listener: OwnershipListener | undefined;
  private stopTimer: Release | undefined;

  constructor(options: OwnershipOptions) {
    const { nodes, after } = options;
    this.options = options;
    this.passes = new Passes({
      nodes,
      after,
      passed: (...passed) => this.accept(...passed),
      stopped: (...stopped) => this.stopped(...stopped),
      running: (address) => this.runningHere(address),
      questions: (address) => this.questionsHere(address),
      answered: (...answer) => this.answered(...answer),
    });
    nodes.handle("taken", ({ k }) => {
      if (typeof k === "string") this.lost(k);
    });
    this.sweep();
  }

  get passed(): number {
    return this.passes.count;
  }

  listen(listener: OwnershipListener): void {
    this.listener = listener;
  }

  /** @returns The fence of a session that this node has or had; empty for any other. */
  fence(sk: string): string {
    return this.bySk.get(sk)?.fence ?? "";
  }

  addressOf(sk: string): Address | undefined {
    return this.bySk.get(sk)?.address;
  }

  async claim(address: Address): Promise<"own" | { readonly node: string }> {
    const owned = this.owned.get(keyOf(address.channel, address.session));
    if (!owned || owned.isLost) return this.claimAnew(address, owned);
    owned.usedAt = this.options.clock.monotonic();
    return "own";
  }

  pass(...given: Parameters<SessionOwnership["pass"]>): void {
    this.passes.pass(...given);
  }

  async stop(
    address: Address,
    id?: string,
    by?: Stopper,
  ): Promise<readonly StopResult[] | undefined> {
    if (this.owns(address)) return undefined;
    return this.askOwner(address, (node) => this.passes.stop(node, address, { id, by }));
  }

  async running(address: Address): Promise<readonly RunningMessage[] | undefined> {
    if (this.owns(address)) return [];
    try {
      return (await this.askOwner(address, (node) => this.passes.running(node, address))) ?? [];
    } catch {
      return undefined; // that node does not answer
    }
  }

  /** As `running`, also of a session that this node has. */
  async workedOn(address: Address): Promise<readonly RunningMessage[] | undefined> {
    return this.owns(address) ? this.listener?.running(address) : this.running(address);
  }

  async questions(address: Address): Promise<readonly OpenQuestion[] | undefined> {
    if (this.owns(address)) return [];
    try {
      return (await this.askOwner(address, (node) => this.passes.questions(node, address))) ?? [];
    } catch {
      return undefined; // that node does not answer
    }
  }

  answer(node: string, ...answer: GivenAnswer): Promise<AnswerResult> {
    return this.passes.answer(node, answer);
  }

  /** The store has refused this node's fence, or another node has said that it took the session. */
  lost(sk: string): void {
    const owned = this.bySk.get(sk);
    if (!owned || owned.isLost) return;
    owned.isLost = true;
    if (this.listener) this.listener.lost(owned.address);
    else this.forget(owned.address);
  }

  /**
   * The conversation of this session was deleted.
   *
   * @param fence - The fence after the deletion.
   * @param end - Ends what this node still writes. Not called if it learned of the deletion before.
   */
  forgotten(sk: string, fence: number, end: () => void): void {
    const owned = this.bySk.get(sk);
    if (owned && Number(owned.fence) >= fence) return;
    end();
    if (owned && !owned.isLost) owned.fence = String(fence);
  }

  /**
   * The store has refused this fence, because the conversation was deleted.
   *
   * @param end - As for `forgotten`. The session must be claimed again, for its new fence.
   */
  refusedAsForgotten(sk: string, fence: string, end: (address: Address) => void): void {
    const owned = this.bySk.get(sk);
    if (!owned || owned.fence !== fence || owned.isLost) return;
    end(owned.address);
    this.remove(owned);
  }

  forget(address: Address): void {
    const owned = this.owned.get(keyOf(address.channel, address.session));
    if (!owned?.isLost) return;
    this.remove(owned);
    for (const run of owned.waiting) run();
  }

  /** Lets other nodes have all sessions of this one. */
  async releaseAll(): Promise<void> {
    this.stopTimer?.();
    await Promise.all([...this.owned.values()].map((owned) => this.release(owned)));
  }

  private async claimAnew(
    { channel, session }: Address,
    lost: OwnedSession | undefined,
  ): Promise<"own" | { readonly node: string }> {
    if (lost) await new Promise<void>((resolve) => lost.waiting.push(resolve));
    const { space, nodes, link, clock } = this.options;
    const address = { channel, session };
    const { sk } = space.place(address.channel, address.session);
    let [isMine, value] = await this.ask(sk, "");
    if (!isMine && nodes.isGone(value)) {
      const gone = value;
      [isMine, value] = await this.ask(sk, gone);
      if (isMine) {
        this.takenOver += 1;
        if (link.isUp) void nodes.send(gone, { t: "taken", k: sk }).catch(() => undefined);
      }
    }
    const key = keyOf(address.channel, address.session);
    if (!isMine) return { node: value };
    // A claim of the same session may have been answered in the meantime.
    const existing = this.owned.get(key);
    if (existing && !existing.isLost) return "own";
    const usedAt = clock.monotonic();
    const owned = { address, sk, fence: value, usedAt, isLost: false, waiting: [] };
    this.owned.set(key, owned);
    this.bySk.set(sk, owned);
    this.listener?.taken(address);
    return "own";
  }

  private owns(address: Address): boolean {
    return this.owned.get(keyOf(address.channel, address.session))?.isLost === false;
  }

  /**
   * Asks the node that has the session, which may move in the meantime.
   *
   * @returns Undefined if no other node has it.
   */
  private async askOwner<T>(
    { channel, session }: Address,
    ask: (node: string) => Promise<T>,
  ): Promise<T | undefined> {
    const { space, nodes, link } = this.options;
    const { keys } = space.place(channel, session);
    for (let attempt = 0; attempt < maxAskAttempts; attempt += 1) {
      const call = { script: "owner", keys, values: [], repeats: true } as const;
      const node = String((await link.run(call)) ?? "");
      if (node === "" || node === nodes.me) return undefined;
      if (nodes.isGone(node)) throw conversationsErrors.node_gone();
      try {
        return await ask(node);
      } catch (error) {
        if (codeOf(error) !== "not_owner") throw error;
      }
    }
    return undefined;
  }

  /** Lists the messages that the application works on for another node. */
  private runningHere(address: Address): readonly RunningMessage[] {
    if (!this.owns(address) || !this.listener) throw conversationsErrors.not_owner();
    return this.listener.running(address);
  }

  /** Lists the open questions of a session for another node. */
  private async questionsHere(address: Address): Promise<readonly OpenQuestion[]> {
    if (!this.owns(address) || !this.listener) throw conversationsErrors.not_owner();
    return this.listener.questions(address);
  }

  /** Stops messages for another node, after those that it has passed before. */
  private async stopped(
    ...[address, id, by]: Parameters<OwnershipListener["stopped"]>
  ): Promise<readonly StopResult[]> {
    const owner = await (this.owned.has(keyOf(address.channel, address.session))
      ? this.claim(address)
      : undefined);
    if (owner !== "own" || !this.listener) throw conversationsErrors.not_owner();
    return this.listener.stopped(address, id, by);
  }

  /** Answers a question for another node. */
  private async answered(...answer: GivenAnswer): Promise<AnswerResult> {
    const [address] = answer;
    const owner = await (this.owned.has(keyOf(address.channel, address.session))
      ? this.claim(address)
      : undefined);
    if (owner !== "own" || !this.listener) throw conversationsErrors.not_owner();
    return this.listener.answered(...answer);
  }

  private async ask(sk: string, gone: string): Promise<[isMine: boolean, value: string]> {
    const { link, space, nodes, keepMs } = this.options;
    const { keys } = space.placeOf(sk);
    const values = [nodes.me, gone, keepMs];
    const reply = await link.run({ script: "claim", keys, values, repeats: true });
    const [isMine, value] = reply as readonly Reply[];
    return [isMine === 1, String(value)];
  }

  /** Delivers a message of another node, if the session belongs to this one. */
  private accept(...[message, outcome, options]: Parameters<OwnershipListener["passed"]>): void {
    const { listener } = this;
    const claimed = async (): Promise<void> => {
      const owner = await this.claim(message);
      if (typeof owner === "object" || !listener) throw conversationsErrors.not_owner();
      listener.passed(message, outcome, options);
    };
    claimed().catch((error: unknown) =>
      outcome.rejected(codeOf(error) === "internal" ? conversationsErrors.not_owner() : error),
    );
  }

  private remove(owned: OwnedSession): void {
    const key = keyOf(owned.address.channel, owned.address.session);
    if (this.owned.get(key) === owned) this.owned.delete(key);
    if (this.bySk.get(owned.sk) === owned) this.bySk.delete(owned.sk);
  }

  private async release(owned: OwnedSession): Promise<void> {
    this.remove(owned);
    const { link, space, nodes } = this.options;
    const { keys } = space.placeOf(owned.sk);
    const values = [nodes.me, owned.fence];
    await link.run({ script: "release", keys, values }).catch(() => undefined);
  }

  private sweep(): void {
    const { clock, after } = this.options;
    const now = clock.monotonic();
    for (const owned of this.owned.values()) {
      if (owned.isLost || now - owned.usedAt < keptMs) continue;
      if (this.listener?.isBusy(owned.address)) owned.usedAt = now;
      else void this.release(owned);
    }
    this.stopTimer = after(sweepMs, () => this.sweep());
  }
}
