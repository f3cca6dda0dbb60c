// The nodes that share one Redis: their beats, and messages from one to another.
import type { Clock, Log, Release } from "../../../../kernel/index.ts";
import { isObject } from "../../../../lib/util.ts";
import { conversationsErrors } from "../../errors.ts";
import type { NodeView } from "../../service.ts";
import type { KeySpace } from "./keys.ts";
import type { RedisLink } from "./link.ts";

interface NodesOptions {
  readonly link: RedisLink;
  readonly space: KeySpace;
  readonly clock: Clock;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  readonly random: (bytes: number) => Uint8Array;
  /** Name of this node for people. */
  readonly name: string;
  /** Data about this node in its beats. */
  readonly describe: () => Pick<NodeView, "sessions">;
}

type Fields = Readonly<Record<string, unknown>>;
type Handler = (fields: Fields, from: string | undefined) => void;

/** Milliseconds between two beats, and without any after which a node is gone. */
const beatMs = 1_000;
const goneMs = 5_000;
/** Milliseconds in which the node's own beat must come back. */
const maxEchoMs = 2_000;
/** Nodes without beats stay in the list for this time. */
const forgetMs = 60_000;
/** Nodes in one group, at most: an id is made at each start. */
const maxNodes = 256;
/** Doubles the room for the base64 form of the largest message. */
const maxMessageBytes = 64 * 1024 * 1024;

interface SeenNode {
  heardAt: number;
  readonly since: number;
  name: string;
  sessions: number;
}

function parse(message: Buffer): Fields | undefined {
  if (message.byteLength > maxMessageBytes) return undefined;
  const end = message.indexOf(10);
  const head = end < 0 ? message : message.subarray(0, end);
  try {
    const parsed: unknown = JSON.parse(head.toString());
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" && value.length <= 256 ? value : undefined;

export class Nodes {
  /** A new id for each start. */
  readonly me: string;
  private readonly options: NodesOptions;
  private readonly seen = new Map<string, SeenNode>();
  private readonly handlers = new Map<string, Handler>();
  private readonly onGone = new Set<(node: string) => void>();
  private readonly onDeleted = new Set<() => void>();
  private stopTimer: Release | undefined;
  private echoedAt = 0;
  private beatAt = 0;
  private hasEchoed = true;
  private isClosed = false;

  constructor(options: NodesOptions) {
    this.options = options;
    this.me = Buffer.from(options.random(9)).toString("base64url");
    options.link.watch((isUp) => void (isUp && this.forgive()));
  }

  async start(): Promise<void> {
    const { link, space } = this.options;
    await link.subscribe(space.all, (message) => this.received(message));
    await link.subscribe(space.nodes + this.me, (message) => this.received(message));
    this.forgive();
    this.beatAt = this.options.clock.monotonic();
    this.beat();
  }

  /** Handles messages of one type, to this node or to all. */
  handle(type: string, handler: Handler): void {
    this.handlers.set(type, handler);
  }

  /** Runs when a node is gone. */
  watchGone(run: (node: string) => void): void {
    this.onGone.add(run);
  }

  /** Runs when the data of all sessions was deleted. */
  watchDeleted(run: () => void): void {
    this.onDeleted.add(run);
  }

  /**
   * Sends a message to one node.
   *
   * @returns False if that node does not listen.
   * @throws store_unavailable if the store is away.
   */
  async send(node: string, fields: Fields): Promise<boolean> {
    const { link, space } = this.options;
    const text = JSON.stringify({ ...fields, from: this.me });
    if (Buffer.byteLength(text) > maxMessageBytes) throw conversationsErrors.store_busy();
    const count = await link.run({
      script: "publish",
      keys: [space.nodes + node],
      values: [text],
      bytes: text.length,
    });
    return count !== 0;
  }

  /** True if nothing was heard of the node for 5 s. Begins to watch a node that is unknown. */
  isGone(node: string): boolean {
    const now = this.options.clock.monotonic();
    const known = this.seen.get(node);
    if (known) return now - known.heardAt >= goneMs;
    this.add(node, now);
    return false;
  }

  list(): readonly NodeView[] {
    const { clock, name, describe, link } = this.options;
    const now = clock.monotonic();
    const own: NodeView = {
      id: this.me,
      name,
      state: link.isUp ? "up" : "away",
      lastSeenAt: clock.now(),
      isSelf: true,
      ...describe(),
    };
    const others = [...this.seen].flatMap(([id, node]): NodeView[] => {
      if (node.name === "") return [];
      const { heardAt, sessions } = node;
      const state = now - heardAt >= goneMs ? "gone" : "up";
      const lastSeenAt = clock.now() - (now - heardAt);
      return [{ id, name: node.name, state, lastSeenAt, isSelf: false, sessions }];
    });
    return [own, ...others].sort((a, b) => a.name.localeCompare(b.name));
  }

  /** Tells the others that this node leaves. */
  async stop(): Promise<void> {
    this.isClosed = true;
    this.stopTimer?.();
    const { link, space } = this.options;
    if (!link.isUp) return;
    const text = JSON.stringify({ t: "bye", from: this.me });
    await link.run({ script: "publish", keys: [space.all], values: [text] }).catch(() => undefined);
  }

  private add(id: string, heardAt: number): SeenNode {
    if (this.seen.size >= maxNodes) this.seen.delete(this.seen.keys().next().value!);
    const node: SeenNode = { heardAt, since: heardAt, name: "", sessions: 0 };
    this.seen.set(id, node);
    return node;
  }

  /** Beats could not arrive while the store was away, so no node is late. */
  private forgive(): void {
    const now = this.options.clock.monotonic();
    for (const node of this.seen.values())
      if (now - node.heardAt < forgetMs) node.heardAt = Math.max(node.heardAt, now);
    this.hasEchoed = true;
    this.echoedAt = now;
  }

  private received(message: Buffer): void {
    const fields = parse(message);
    const type = textOf(fields?.t);
    if (!fields || type === undefined) return;
    const from = textOf(fields.from);
    if (type === "beat" && from !== undefined) return this.heard(from, fields);
    if (type === "bye" && from !== undefined) return this.gone(from);
    try {
      this.handlers.get(type)?.(fields, from);
    } catch (error) {
      this.options.log.error({ err: error, type }, "A message of another node failed");
    }
  }

  private heard(from: string, fields: Fields): void {
    const now = this.options.clock.monotonic();
    if (from === this.me) {
      this.hasEchoed = true;
      this.echoedAt = now;
      return;
    }
    const node = this.seen.get(from) ?? this.add(from, now);
    node.heardAt = now;
    node.name = textOf(fields.name) ?? from;
    const { sessions } = fields;
    node.sessions = typeof sessions === "number" ? sessions : 0;
  }

  private gone(from: string): void {
    if (!this.seen.delete(from)) return;
    for (const run of this.onGone) run(from);
  }

  private readonly beat = (): void => {
    const { link, space, clock, after, name, describe } = this.options;
    if (this.isClosed) return;
    const now = clock.monotonic();
    this.stopTimer = after(beatMs, this.beat);
    // The process was suspended, and the beats of the meantime are not read yet.
    if (now - this.beatAt > 2 * beatMs) this.forgive();
    this.beatAt = now;
    this.dropSilent(now);
    if (!link.isUp) return;
    if (!this.hasEchoed && now - this.echoedAt > maxEchoMs)
      return link.reconnect("its own beat did not come back in 2 s");
    if (this.hasEchoed) this.echoedAt = now;
    this.hasEchoed = false;
    const text = JSON.stringify({ t: "beat", from: this.me, name, ...describe() });
    link
      .run({ script: "beat", keys: [space.lineage, space.all], values: [text] })
      .then((exists) => {
        if (exists === 0) for (const run of this.onDeleted) run();
      })
      .catch(() => undefined);
  };

  private dropSilent(now: number): void {
    if (!this.options.link.isUp) return;
    for (const [id, node] of this.seen) {
      const silentMs = now - node.heardAt;
      if (silentMs >= forgetMs) this.seen.delete(id);
      else if (silentMs >= goneMs && silentMs < goneMs + beatMs * 1.5)
        for (const run of this.onGone) run(id);
    }
  }
}
