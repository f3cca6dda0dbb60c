// Conversations in Redis, shared by several nodes.
import { codeOf } from "../../kernel/index.ts";
import { isObject } from "../../lib/util.ts";
import type { Address, RenameOptions } from "../conversations/contract.ts";
import type { LogListeners, SessionLog } from "../conversations/log/session-log.ts";
import { createRecord } from "../conversations/log/session-record.ts";
import type {
  ConversationHistory,
  ConversationId,
  DeletionListener,
  StoreHealth,
  StoredEnd,
  StoreMetrics,
  TakenId,
  TakenIds,
} from "../conversations/contract.ts";
import { findReplies } from "../conversations/find-replies.ts";
import { CommitMetrics } from "../conversations/commit-metrics.ts";
import { takenMs } from "./batch-script.ts";
import { RedisOwnership } from "./ownership.ts";
import type { RedisClient, Reply } from "./driver.ts";
import { RedisHistory } from "./history.ts";
import { KeySpace } from "./keys.ts";
import { RedisLink } from "./link.ts";
import { Nodes } from "./nodes.ts";
import type { RedisLogContext } from "./log-context.ts";
import { RedisSessionLog, replayWindow } from "./session-log.ts";
import { RedisRecords } from "./records.ts";
import { QuestionIndex } from "./question-index.ts";
import { TokenExchange } from "./tokens.ts";
import type {
  ConversationRecord,
  OpenConversations,
  StoreScope,
} from "../conversations/contract.ts";

interface RedisSettings {
  readonly prefix: string;
  readonly secret: string;
  readonly node: string;
  readonly patienceMs: number;
  readonly replicas: number;
  readonly keepMs: number;
  /** Frames kept for one session. @defaultValue 256 frames, 512 KiB */
  readonly window?: { readonly frames: number; readonly bytes: number };
}

/** Malformed conversations that the log names. */
const maxMalformed = 100;

/** Reads ids and their records: the time, "s" if stopped or "b" if begun, ":", and the digest. */
function toTakenIds(pairs: readonly Reply[], now: number): readonly TakenId[] {
  const taken: TakenId[] = [];
  for (let at = 0; at < pairs.length; at += 2) {
    const [, time, mark, digest = ""] = /^(\d+)([sb]?):(.*)$/s.exec(String(pairs[at + 1])) ?? [];
    const ageMs = Math.max(0, now - Number(time));
    const known = {
      ...(digest !== "" && { digest }),
      ...(mark === "s" && { stopped: true }),
      ...(mark === "b" && { begun: true }),
    };
    if (ageMs < takenMs) taken.push({ id: String(pairs[at]), ageMs, ...known });
  }
  return taken.sort((a, b) => b.ageMs - a.ageMs);
}

function toHead(
  { base, lineage, index }: KeySpace,
  me: string,
  { keepMs, replicas, window = replayWindow }: RedisSettings,
): readonly (string | number)[] {
  const keptSince = Math.floor(keepMs / 12);
  const { frames, bytes } = window;
  return [lineage, index, base, me, keepMs, keptSince, frames, bytes, replicas === 0 ? 1 : 0];
}

export class RedisConversations implements OpenConversations {
  readonly ownership: RedisOwnership;
  readonly peers: Nodes;
  readonly questions: QuestionIndex;
  readonly records: RedisRecords;
  readonly link: RedisLink;
  readonly space: KeySpace;
  readonly taken: TakenIds = {
    known: (address, id) => this.known(address, id),
    replies: (address, id) => findReplies(this, address, id),
    settle: (address, id, digest, options) => this.settle(address, id, digest, options),
    discard: (address, id) => this.discard(address, id),
  };
  private readonly scope: StoreScope;
  private readonly settings: RedisSettings;
  private readonly history: RedisHistory;
  private readonly malformed = new Set<string>();
  private readonly commits = new CommitMetrics();
  private readonly logs = new Map<string, RedisSessionLog>();
  private readonly listeners = new Map<string, LogListeners>();
  private readonly context: RedisLogContext;
  private readonly steps: ((addresses: readonly Address[]) => Promise<void>)[] = [];
  private deletionListener: DeletionListener = () => () => undefined;
  /** The first values of the batch script. */
  private readonly head: readonly (string | number)[];

  constructor(create: () => RedisClient, settings: RedisSettings, scope: StoreScope) {
    const { prefix, secret, node, patienceMs, replicas, keepMs } = settings;
    const { clock, log, after, random } = scope;
    const space = new KeySpace(prefix, secret);
    const link = new RedisLink({
      create,
      space,
      clock,
      log,
      after,
      patienceMs,
      replicas,
      calls: {
        head: () => this.head,
        committed: (seconds) => this.commits.committed(seconds),
        failed: (error) => this.commits.failed(error),
      },
    });
    this.scope = scope;
    this.settings = settings;
    this.space = space;
    this.link = link;
    const describe = () => ({ sessions: this.liveCount() });
    this.peers = new Nodes({ link, space, clock, log, after, random, name: node, describe });
    this.questions = new QuestionIndex(link, space, this.peers);
    this.records = new RedisRecords({ link, space, nodes: this.peers, random, keepMs, log });
    this.ownership = new RedisOwnership({ link, space, nodes: this.peers, clock, after, keepMs });
    const malformed = (sk: string): void => this.noteMalformed(sk);
    this.history = new RedisHistory({
      ...{ link, space, keepMs, malformed },
      questions: this.questions,
      workedOn: (address) => this.ownership.workedOn(address),
    });
    const { me } = this.peers;
    this.head = toHead(space, me, settings);
    const own = { me, appends: 0 };
    const logSettings = { keepMs, replicas };
    this.context = { link, space, clock, log, after, random, node: own, settings: logSettings };
    this.peers.handle("ack", ({ k, a, u }) =>
      this.eachLog((each) => {
        each.receipts.acknowledge(String(k), Number(a), Number(u));
      }),
    );
    this.peers.handle("lost", ({ k, s }) =>
      this.eachLog((each) => {
        each.receipts.lose(String(k), Number(s));
      }),
    );
    this.peers.handle("ends", ({ k }) => this.eachLog((each) => each.noteEndsRequested(String(k))));
    this.peers.handle("forgotten", (fields) => this.forgotten(fields));
    this.peers.handle("active", ({ k }) => this.tell(String(k), "sessionActive"));
    this.peers.handle("idle", ({ k }) => this.tell(String(k), "sessionIdle"));
    this.peers.watchDeleted(() => link.reconnect("its data was deleted"));
    this.peers.watchGone((node) => void this.takeOver(node));
    const { tokens: sync } = scope;
    if (sync) new TokenExchange({ link, space, nodes: this.peers, log, random, sync }).connect();
    link.watch((isUp) => this.stateChanged(isUp));
  }

  /** Connects. The start of the plugin rejects with the errors of `RedisLink.open`. */
  async start(): Promise<void> {
    await this.link.open();
    await this.peers.start();
  }

  open(channel: string, listeners: LogListeners): SessionLog {
    const { window } = this.settings;
    const created = new RedisSessionLog(this.context, {
      channel,
      listeners,
      ...(window && { window }),
      fence: (sk) => this.ownership.fence(sk),
      refused: (...refused) => this.refused(...refused),
      history: this.history,
      changed: (session) => this.scope.changed({ channel, session }),
      asked: () => this.questions.changed(),
    });
    this.logs.set(channel, created);
    this.listeners.set(channel, listeners);
    return created;
  }

  announce(settings: string): void {
    this.peers.announce(settings);
  }

  record(channel: string): ConversationRecord {
    return createRecord(this, channel, this.scope.random);
  }

  health(): StoreHealth {
    const { isUp, since, problem, calls } = this.link;
    return {
      kind: "redis",
      state: isUp ? "up" : "away",
      since,
      ...(problem !== undefined && { problem }),
      conversations: this.liveCount(),
      waitingBytes: calls.waitingBytes,
      nodes: this.peers.list(),
      searches: false,
    };
  }

  metrics(): StoreMetrics {
    const { passed, takenOver } = this.ownership;
    const renewed = [...this.logs.values()].reduce((sum, log) => sum + log.renewedCount, 0);
    const nodes = this.peers.list().filter(({ state }) => state === "up").length;
    return { ...this.commits.read(), shared: { passed, takenOver, renewed, nodes } };
  }

  noteEnd({ channel, session }: Address, request: string, end: StoredEnd | undefined): void {
    const { sk, keys } = this.space.place(channel, session);
    const value = JSON.stringify([request, end]);
    const values = [this.ownership.fence(sk), value, this.settings.keepMs];
    const call = { script: "noteEnd", keys, values, bytes: value.length, repeats: true } as const;
    // The link has logged why it fails, and the answer has ended.
    this.link.run(call).catch(() => undefined);
  }

  list(options?: Parameters<ConversationHistory["list"]>[0]) {
    return this.history.list(options);
  }

  find(address: Address) {
    return this.history.find(address);
  }

  get(id: ConversationId) {
    return this.history.get(id);
  }

  read(id: ConversationId, options?: Parameters<ConversationHistory["read"]>[1]) {
    return this.history.read(id, options);
  }

  search() {
    return this.history.search();
  }

  rename(id: ConversationId, title: string, options?: RenameOptions) {
    return this.history.rename(id, title, options);
  }

  watchDeletions(listener: DeletionListener): void {
    this.deletionListener = listener;
  }

  beforeDeletion(step: (addresses: readonly Address[]) => Promise<void>): void {
    this.steps.push(step);
  }

  async forget(id: ConversationId): Promise<void> {
    const { channel, session } = await this.history.get(id);
    const ended = this.deletionListener({ channel, session });
    try {
      for (const step of this.steps) await step([{ channel, session }]);
      const { sk, fence } = await this.history.forgetBy(this.peers.me, id);
      this.ownership.forgotten(sk, fence, () => undefined);
      this.eachLog((log) => log.forgotten(sk));
    } finally {
      ended();
    }
    this.scope.forgotten(1);
  }

  export(id: ConversationId, format: "json" | "markdown") {
    return this.history.export(id, format);
  }

  /** Gives all sessions to the other nodes, and disconnects. */
  async close(): Promise<void> {
    for (const log of this.logs.values()) log.close();
    if (this.link.isUp) await this.ownership.releaseAll();
    await this.peers.stop();
    this.link.close();
  }

  /** Sessions with subscribers here. */
  private liveCount(): number {
    return [...this.logs.values()].reduce((sum, log) => sum + log.liveCount, 0);
  }

  /** Names each session once. */
  private noteMalformed(sk: string): void {
    if (this.malformed.has(sk) || this.malformed.size >= maxMalformed) return;
    this.malformed.add(sk);
    const keys = `${this.space.base}{${sk}}:*`.replace(/[^\x21-\x7e]/g, "?").slice(0, 200);
    const text = "the data of a conversation in Redis is malformed, so it is left out; delete it";
    this.scope.log.warn({ keys }, text);
  }

  private eachLog(run: (log: RedisSessionLog) => void): void {
    for (const log of this.logs.values()) run(log);
  }

  /** Another node reports that a session of this one got its first client, or lost its last. */
  private tell(sk: string, what: "sessionActive" | "sessionIdle"): void {
    const address = this.ownership.addressOf(sk);
    if (address) this.listeners.get(address.channel)?.[what](address.session);
  }

  private stateChanged(isUp: boolean): void {
    const { log } = this.scope;
    if (isUp) {
      log.info({}, "Redis is connected");
      void this.resync();
    } else log.error({}, this.link.problem ?? "Redis is away");
  }

  private async resync(): Promise<void> {
    if (!this.link.isUp) return;
    await Promise.all([...this.logs.values()].map((log) => log.resync())).catch(
      (error: unknown) => {
        if (this.link.isUp) this.scope.log.error({ err: error }, "Sessions could not be compared");
      },
    );
  }

  /** Takes the sessions with clients here from a node that is gone: their answers are over. */
  private async takeOver(node: string): Promise<void> {
    if (!this.link.isUp) return;
    try {
      for (const [channel, log] of this.logs)
        for (const session of await log.resync(node))
          await this.ownership.claim({ channel, session });
    } catch (error) {
      if (this.link.isUp)
        this.scope.log.error(
          { err: error },
          "The sessions of a node that is gone stay without a node",
        );
    }
  }

  private async known(
    { channel, session }: Address,
    id = "",
  ): Promise<Awaited<ReturnType<TakenIds["known"]>>> {
    const { sk, keys } = this.space.place(channel, session);
    const values = [id, this.space.deleted, this.space.deletedId(sk, id)];
    const reply = await this.link.run({ script: "known", keys, values, repeats: true });
    const [now, isComplete, pairs] = reply as readonly [Reply, Reply, readonly Reply[]];
    const taken = toTakenIds(pairs, Number(now));
    return isComplete === 1 ? taken : { found: taken[0] };
  }

  private async discard({ channel, session }: Address, id: string): Promise<void> {
    const { sk, keys } = this.space.place(channel, session);
    const values = [this.settings.keepMs, this.space.deleted, this.space.deletedId(sk, id)];
    await this.link.run({ script: "discard", keys, values, bytes: id.length, repeats: true });
  }

  private async settle(
    { channel, session }: Address,
    id: string,
    digest: string,
    { stopped = false }: { readonly stopped?: boolean } = {},
  ): Promise<void> {
    const { sk } = this.space.place(channel, session);
    const record = `${stopped ? "s" : ""}:${digest}`;
    const fence = this.ownership.fence(sk);
    const values = [sk, fence, id, record];
    try {
      const bytes = id.length + record.length;
      await this.link.run({ script: "settle", keys: [], values, bytes, repeats: true });
    } catch (error) {
      this.refused(sk, fence, error);
      throw error;
    }
  }

  private refused(sk: string, fence: string, error: unknown): void {
    const code = codeOf(error);
    if (code === "not_owner") this.ownership.lost(sk);
    if (code === "forgotten")
      this.ownership.refusedAsForgotten(sk, fence, (address) => this.endForgotten(sk, address));
  }

  /** Another node has deleted the conversation of this session. */
  private forgotten({ n, k, f, a }: Readonly<Record<string, unknown>>): void {
    if (n === this.peers.me || typeof k !== "string" || !isObject(a)) return;
    const { channel, session } = a;
    if (typeof channel !== "string" || typeof session !== "string") return;
    this.ownership.forgotten(k, Number(f), () => this.endForgotten(k, { channel, session }));
  }

  private endForgotten(sk: string, address: Address): void {
    this.eachLog((log) => log.forgotten(sk));
    this.deletionListener(address)();
  }
}
