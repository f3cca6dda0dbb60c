// The nodes that share one Redis: their beats, and messages from one to another.
import type { Clock, Log, Release } from "../../kernel/index.ts";
import { BoundedMap, isObject } from "../../lib/util.ts";
import { conversationsErrors } from "../conversations/errors.ts";
import type { NodeView } from "../conversations/contract.ts";
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
/** Milliseconds between two checks, and after which a check is so late that beats wait unread. */
const checkMs = 250;
const lateMs = 1_000;
/** Silence before an outage of the store that still counts after it. */
const maxSilenceBeforeMs = 2_000;
/** Milliseconds in which the node's own beat must come back. */
const maxEchoMs = 2_000;
/** Nodes without beats stay in the list for this time. */
const forgetMs = 60_000;
/** Nodes in one group, at most: an id is made at each start. */
const maxNodes = 256;
/** Doubles the room for the base64 form of the largest message. */
const maxMessageBytes = 64 * 1024 * 1024;

interface SeenNode {
  /** Later than the last beat by the time in which this node could hear nothing. */
  heardAt: number;
  isGone: boolean;
  name: string;
  sessions: number;
  /** Digest of its settings; empty until they are known. */
  settings: string;
}

/** Reads the first line of a message. @returns Undefined if another program has written it. */
export function readHead(message: Buffer): Fields | undefined {
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
  private readonly seen = new BoundedMap<string, SeenNode>(maxNodes);
  private readonly handlers = new Map<string, Handler>();
  private readonly onGone = new Set<(node: string) => void>();
  private readonly onDeleted = new Set<() => void>();
  private stopTimer: Release | undefined;
  private echoedAt = 0;
  private beatAt = 0;
  private checkedAt = 0;
  private awaySince = 0;
  private listeningSince = 0;
  private hasEchoed = true;
  private isClosed = false;
  /** Digest of the settings of this node. */
  private settings = "";

  constructor(options: NodesOptions) {
    this.options = options;
    this.me = Buffer.from(options.random(9)).toString("base64url");
    options.link.watch((isUp) => {
      if (isUp) this.forgive();
      else this.awaySince = options.clock.monotonic();
    });
  }

  async start(): Promise<void> {
    const { link, space } = this.options;
    await link.subscribe(space.all, (message) => this.received(message));
    await link.subscribe(space.nodes + this.me, (message) => this.received(message));
    this.awaySince = this.options.clock.monotonic();
    this.forgive();
    this.beatAt = this.awaySince - beatMs;
    this.check();
  }

  /** Handles messages of one type, to this node or to all. */
  handle(type: string, handler: Handler): void {
    this.handlers.set(type, handler);
  }

  /** Compares settings with those of the other nodes. */
  announce(settings: string): void {
    this.settings = this.options.space.digest("settings", settings);
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

  /**
   * True if nothing was heard of the node for 5 s. Begins to watch a node that is unknown; it is
   * not alive if this one has listened for that long, unless its first beat is on its way.
   */
  isGone(node: string): boolean {
    const now = this.options.clock.monotonic();
    const silentMs = now - this.listeningSince >= goneMs ? goneMs - 1.5 * beatMs : 0;
    return (this.seen.get(node) ?? this.add(node, now - silentMs)).isGone;
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
      differs: false,
      ...describe(),
    };
    const others = [...this.seen].flatMap(([id, node]): NodeView[] => {
      if (node.name === "") return [];
      const { heardAt, sessions, isGone, settings } = node;
      const differs = settings !== "" && this.settings !== "" && settings !== this.settings;
      const state = isGone ? "gone" : "up";
      const lastSeenAt = clock.now() - (now - heardAt);
      return [{ id, name: node.name, state, lastSeenAt, isSelf: false, sessions, differs }];
    });
    return [own, ...others].sort((a, b) => a.name.localeCompare(b.name));
  }

  /** Tells the others that this node leaves. */
  async stop(): Promise<void> {
    this.isClosed = true;
    this.stopTimer?.();
    if (!this.options.link.isUp) return;
    await this.tellAll({ t: "bye" });
  }

  /** Sends a message to all nodes. Those that do not listen at the moment miss it. */
  async tellAll(fields: { readonly t: string }): Promise<void> {
    const { link, space } = this.options;
    const text = JSON.stringify({ ...fields, from: this.me });
    await link.run({ script: "publish", keys: [space.all], values: [text] }).catch(() => undefined);
  }

  private add(id: string, heardAt: number): SeenNode {
    const node: SeenNode = { heardAt, isGone: false, name: "", sessions: 0, settings: "" };
    this.seen.set(id, node);
    return node;
  }

  /** Beats could not arrive while the store was away, so that time counts for no node. */
  private forgive(): void {
    const now = this.options.clock.monotonic();
    const silenceOf = ({ heardAt }: SeenNode): number =>
      Math.min(Math.max(0, this.awaySince - heardAt), maxSilenceBeforeMs);
    for (const node of this.seen.values()) if (!node.isGone) node.heardAt = now - silenceOf(node);
    this.hasEchoed = true;
    this.echoedAt = this.checkedAt = this.listeningSince = now;
  }

  /** This process was suspended or busy: the beats of that time are not read yet. */
  private excuse(stopTimeoutMs: number, now: number): void {
    for (const node of this.seen.values()) node.heardAt += stopTimeoutMs;
    this.hasEchoed = true;
    this.echoedAt = now;
  }

  private received(message: Buffer): void {
    const fields = readHead(message);
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
    node.isGone = false;
    node.name = textOf(fields.name) ?? from;
    node.settings = textOf(fields.settings) ?? "";
    const { sessions } = fields;
    node.sessions = typeof sessions === "number" ? sessions : 0;
  }

  private gone(from: string): void {
    if (!this.seen.delete(from)) return;
    for (const run of this.onGone) run(from);
  }

  private readonly check = (): void => {
    const { link, clock, after } = this.options;
    if (this.isClosed) return;
    const now = clock.monotonic();
    this.stopTimer = after(checkMs, this.check);
    const stopTimeoutMs = now - this.checkedAt - checkMs;
    this.checkedAt = now;
    if (stopTimeoutMs > lateMs) this.excuse(stopTimeoutMs, now);
    if (link.isUp) this.findGone(now);
    if (now - this.beatAt < beatMs || !link.isUp) return;
    this.beatAt = now;
    if (!this.hasEchoed && now - this.echoedAt > maxEchoMs)
      return link.reconnect("its own beat did not come back in 2 s");
    this.beat(now);
  };

  private beat(now: number): void {
    const { link, space, name, describe } = this.options;
    if (this.hasEchoed) this.echoedAt = now;
    this.hasEchoed = false;
    const own = { name, settings: this.settings, ...describe() };
    const text = JSON.stringify({ t: "beat", from: this.me, ...own });
    link
      .run({ script: "beat", keys: [space.lineage, space.all], values: [text] })
      .then((exists) => {
        if (exists === 0) for (const run of this.onDeleted) run();
      })
      .catch(() => undefined);
  }

  private findGone(now: number): void {
    for (const [id, node] of this.seen) {
      const silentMs = now - node.heardAt;
      if (silentMs >= forgetMs) this.seen.delete(id);
      else if (silentMs >= goneMs && !node.isGone) {
        node.isGone = true;
        for (const run of this.onGone) run(id);
      }
    }
  }
}
