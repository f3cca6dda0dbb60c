// The law of conversations in Redis: any node writes and reads. Nodes are killed, also while they
// write, their clocks are wrong, and the server fails over to an earlier state.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { entry, type TestEntry } from "../support/sqlite-store.ts";
import { openRedisNode, type RedisNode } from "../support/redis-nodes.ts";
import type { RedisServer } from "../support/redis-server.ts";
import { StoreWorld, toLogEntry, type Known, type StoreLaw, type StoreStep } from "./store-law.ts";

const day = 86_400_000;
const address = (session: string) => ({ channel: "pico", session });

class RedisWorld extends StoreWorld {
  private readonly server: RedisServer;
  private readonly prefix = randomUUID();
  private readonly nodes: RedisNode[] = [];
  private readonly killed: RedisNode[] = [];
  private saved: Known | undefined;
  private next = 0;

  constructor(server: RedisServer) {
    super();
    this.server = server;
  }

  async open(aheadMs = 0): Promise<void> {
    const { server, prefix } = this;
    this.nodes.push(await openRedisNode({ url: server.url, prefix, aheadMs }));
  }

  protected elapsed(): number {
    return performance.now();
  }

  /** The nodes take turns. */
  private get node(): RedisNode {
    return this.nodes[(this.next += 1) % this.nodes.length]!;
  }

  protected async special({ what, session, size }: StoreStep): Promise<void> {
    if (what === "forget") await this.forget(session);
    if (what === "rename") await this.rename(session);
    if (what === "search") await assert.rejects(this.node.conversations.search());
    if (what === "kill") await this.kill(size % 2);
    if (what === "jump") await this.kill(size % 2, (size - 15) * 20 * day);
    if (what === "cut") await this.cut(session);
    if (what === "save") await this.save();
    if (what === "failover") await this.failover();
  }

  async check(): Promise<void> {
    const { known } = this;
    const { items } = await this.node.conversations.list({ limit: 200 });
    assert.deepEqual(
      items.map(({ session }) => session).toSorted(),
      [...known.sessions.keys()].toSorted(),
    );
    for (const { id, session, title } of items) {
      const { name } = known.sessions.get(session)!;
      if (name !== "") assert.equal(title, name);
      const { texts } = await this.look(session, id);
      const { top, frames, partials } = await this.join(session);
      this.checkSession(session, { ...top!, texts });
      assert.equal(frames.length, top!.seq);
      this.checkPartials(session, partials);
      for (const message of this.answered(session, Infinity))
        assert(await this.knows(session, message), `${message} is not taken`);
    }
    for (const node of [...this.killed, ...this.nodes]) await node.close();
  }

  private async knows(session: string, id: string): Promise<boolean> {
    const known = await this.node.conversations.taken.known(address(session), id);
    return "found" in known ? known.found?.id === id : known.some((one) => one.id === id);
  }

  private async look(session: string, given?: string) {
    const { conversations } = this.node;
    const id = given ?? (await conversations.find(address(session)))?.id;
    if (id === undefined) return { texts: [] };
    const { items } = await conversations.read(id, { limit: 200 });
    return { texts: items.map((turn) => (turn.complete === false ? undefined : turn.content)) };
  }

  /** Reads as a client that connects, which begins a new epoch if entries may be lost. */
  private async join(session: string) {
    const { log } = this.node;
    const subscriber = { onEntry: () => undefined };
    const first = await log.join!(session, subscriber, { after: undefined, resumes: true });
    const { epoch } = first.top!;
    const replay = await log.readAfter(session, { epoch, seq: 0 });
    log.unsubscribe(session, subscriber);
    return replay;
  }

  protected async store(one: TestEntry): Promise<string | undefined> {
    const { cursor } = await this.node.log.append(one.session, toLogEntry(one));
    return cursor!.epoch;
  }

  protected async grow(session: string, message: string, frame: Uint8Array): Promise<void> {
    const entryOf = { frame, message, type: "message.update", numbered: false } as const;
    await this.node.log.append(session, entryOf);
  }

  private async forget(session: string): Promise<void> {
    const { conversations } = this.node;
    const found = await conversations.find(address(session));
    if (found) await conversations.forget(found.id);
    this.known.sessions.delete(session);
    assert.equal(await this.node.conversations.find(address(session)), undefined);
  }

  private async rename(session: string): Promise<void> {
    const { conversations } = this.node;
    const found = await conversations.find(address(session));
    if (!found) return;
    const name = `Name ${(this.count += 1)}`;
    await conversations.rename(found.id, name);
    this.known.sessions.get(session)!.name = name;
  }

  /** Replaces a node, by one whose clock may be wrong. */
  private async kill(index: number, aheadMs = 0): Promise<void> {
    const [node] = this.nodes.splice(index, 1);
    node!.conversations.link.close();
    this.killed.push(node!);
    await this.open(aheadMs);
  }

  /** Kills a node while it writes: the entry is stored once or not at all. */
  private async cut(session: string): Promise<void> {
    const text = `cut${(this.count += 1)}`;
    const message = `c${this.count}`;
    const [node] = this.nodes;
    const appended = Promise.resolve(
      node!.log.append(session, toLogEntry(entry("create", message, text, { session }))),
    ).then(
      () => true,
      () => false,
    );
    if (this.count % 2 === 0) await new Promise(setImmediate);
    await this.kill(0);
    const isAcknowledged = await appended;
    const { texts } = await this.look(session);
    const found = texts.filter((one) => one === text).length;
    assert(isAcknowledged ? found === 1 : found <= 1, `${text} is there ${found} times`);
    if (found === 0) return;
    const { epoch, seq } = (await this.node.log.top(session))!;
    const known = this.known.sessions.get(session);
    const fresh = { epoch, seq: 0, turns: [], name: "", texts: [] };
    if (!known) this.known.sessions.set(session, fresh);
    const own = known ?? fresh;
    assert.deepEqual([epoch, seq], [own.epoch, own.seq + 1]);
    own.seq = seq;
    own.turns.push({ message, text });
  }

  private async save(): Promise<void> {
    await this.server.ask("SAVE");
    this.saved = structuredClone(this.known);
  }

  /** The server that takes over has the saved state. All streams get new epochs. */
  private async failover(): Promise<void> {
    if (!this.saved) return;
    await this.server.kill();
    await this.server.start();
    this.known = structuredClone(this.saved);
    for (const [session, known] of this.known.sessions) {
      const { epoch, seq } = (await this.join(session)).top!;
      assert.notEqual(epoch, known.epoch);
      assert.equal(seq, known.seq);
      known.epoch = epoch;
    }
    this.saved = undefined;
  }
}

/** @param server - The nodes of each history have a prefix of their own. */
export const redisLaw = (server: RedisServer): StoreLaw => ({
  weights: {
    forget: 2,
    rename: 1,
    search: 1,
    kill: 2,
    jump: 1,
    cut: 2,
    save: 1,
    failover: 1,
  },
  async open() {
    const world = new RedisWorld(server);
    await world.open();
    await world.open();
    return world;
  },
});
