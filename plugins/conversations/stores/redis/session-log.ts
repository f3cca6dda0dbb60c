// The session log of one channel in Redis. Any node appends; each node passes the entries on to its
// own subscribers.
import { codeOf, type Awaitable, type Release } from "../../../../kernel/index.ts";
import type {
  AppendResult,
  Cursor,
  DefaultStart,
  DeliveryProgress,
  LogEntry,
  LogLimits,
  LogListeners,
  Replay,
  SequenceRange,
  SessionLog,
  Subscriber,
} from "../../log/session-log.ts";
import { AppendDrafts } from "./append-drafts.ts";
import type { Reply } from "./driver.ts";
import type { SessionPlace } from "./keys.ts";
import type { RedisLogContext } from "./log-context.ts";
import {
  LiveSession,
  type EntryHead,
  type LiveSessionOptions,
  type OwnEntry,
} from "./live-session.ts";
import { NoteBuffer } from "./note-buffer.ts";
import { SentReceipts } from "./receipts.ts";
import { toHeard, toReplay } from "./replies.ts";

interface RedisSessionLogOptions {
  readonly channel: string;
  readonly listeners: LogListeners;
  /** Frames kept for one session. @defaultValue 256 frames, 512 KiB */
  readonly window?: { readonly frames: number; readonly bytes: number };
  /** @returns The fence of a session that belongs to this node; empty for any other. */
  readonly fence: (sk: string) => string;
  /** The store has refused the fence of this session. */
  readonly refused: (sk: string) => void;
  /** Entries of this session were stored. */
  readonly changed: (session: string) => void;
}

const replayWindow = { frames: 256, bytes: 512 * 1024 };
/** Sessions that are compared with the store at the same time. */
const resyncWidth = 64;
/** Milliseconds between two renewals of what expires. */
const maxTouchMs = 3_600_000;

export class RedisSessionLog implements SessionLog {
  readonly limits: LogLimits;
  readonly receipts: SentReceipts;
  /** Sessions whose clients here had to reconnect. */
  renewedCount = 0;
  private readonly context: RedisLogContext;
  private readonly options: RedisSessionLogOptions;
  private readonly live = new Map<string, LiveSession>();
  private readonly drafts: AppendDrafts;
  private readonly own = new Map<number, OwnEntry>();
  private readonly notes: NoteBuffer;
  private stopTimer: Release | undefined;

  constructor(context: RedisLogContext, options: RedisSessionLogOptions) {
    const { keepMs } = context.settings;
    this.context = context;
    this.options = options;
    this.drafts = new AppendDrafts(context);
    this.limits = { ...(options.window ?? replayWindow), retentionMs: keepMs };
    this.receipts = new SentReceipts((...receipt) => options.listeners.onReceipt(...receipt));
    this.notes = new NoteBuffer({
      after: context.after,
      write: (session, note) => this.writeNote(session, note),
    });
    this.scheduleTouch();
  }

  /** Sessions with subscribers here. */
  get liveCount(): number {
    return this.live.size;
  }

  /** History has both sides, so every turn is appended. */
  wantsTurns(): boolean {
    return true;
  }

  async append(session: string, entry: LogEntry): Promise<AppendResult> {
    const { context, options, drafts } = this;
    const place = this.placeOf(session);
    this.notes.flush(session);
    const draft = drafts.create(place, entry, {
      address: this.addressOf(session),
      fence: options.fence(place.sk),
      limits: this.limits,
    });
    const { counter, head, call } = draft;
    if (this.live.has(session)) this.own.set(counter, { entry, growth: entry.growth });
    try {
      const reply = (await context.link.run(call)) as readonly Reply[];
      return await this.appended(place, session, entry, head, reply);
    } catch (error) {
      if (codeOf(error) === "not_owner") options.refused(place.sk);
      throw error;
    } finally {
      this.own.delete(counter);
    }
  }

  async readAfter(
    session: string,
    cursor: Cursor | undefined,
    defaultStart: DefaultStart = "written",
  ): Promise<Replay> {
    this.notes.flush(session);
    const { keys } = this.placeOf(session);
    const { epoch = "", seq = 0 } = cursor ?? {};
    const values = [epoch, seq, defaultStart, this.context.settings.keepMs];
    const call = { script: "read", keys, values, repeats: true } as const;
    return toReplay(await this.context.link.run(call), cursor);
  }

  subscribe(session: string, subscriber: Subscriber): Awaitable<void> {
    const existing = this.live.get(session);
    const live = existing ?? this.createLive(session);
    live.subscribers.add(subscriber);
    if (existing) return existing.opening;
    this.live.set(session, live);
    live.opening = this.open(live).catch((error: unknown) => {
      this.drop(live);
      throw error;
    });
    return live.opening;
  }

  unsubscribe(session: string, subscriber: Subscriber): void {
    const live = this.live.get(session);
    if (!live?.subscribers.delete(subscriber) || live.subscribers.size > 0) return;
    this.notes.flush(session);
    this.drop(live);
    this.leave(live).catch(() => undefined);
  }

  async top(session: string): Promise<Cursor | undefined> {
    const { keys } = this.placeOf(session);
    const call = { script: "top", keys, values: [], repeats: true } as const;
    const [epoch, seq] = (await this.context.link.run(call)) as readonly Reply[];
    return epoch ? { epoch: String(epoch), seq: Number(seq) } : undefined;
  }

  note(session: string, range: SequenceRange, progress: DeliveryProgress): void {
    this.notes.add(session, { ...range, progress });
  }

  /** Compares all sessions with subscribers here with the store. */
  async resync(): Promise<void> {
    const all = [...this.live.values()].filter(({ epoch }) => epoch !== "");
    for (let at = 0; at < all.length; at += resyncWidth)
      await Promise.all(
        all.slice(at, at + resyncWidth).map((live) => {
          live.isFetching = true;
          return this.fetch(live);
        }),
      );
  }

  /** Closes the clients of a session: it has a new epoch. */
  renewed(live: LiveSession): void {
    if (live.isClosed) return;
    this.renewedCount += 1;
    this.drop(live);
    void this.context.link.unsubscribe(live.place.keys.at(-1)!);
    this.options.listeners.renewed(live.session);
  }

  close(): void {
    this.stopTimer?.();
    this.notes.close();
    for (const live of this.live.values()) live.close();
  }

  private placeOf(session: string): SessionPlace {
    return this.live.get(session)?.place ?? this.context.space.place(this.options.channel, session);
  }

  private addressOf(session: string): string {
    return JSON.stringify({ channel: this.options.channel, session });
  }

  private async appended(
    { sk, keys }: SessionPlace,
    session: string,
    entry: LogEntry,
    head: string,
    [epochText, seqText, heardText]: readonly Reply[],
  ): Promise<AppendResult> {
    if (!epochText) return { cursor: undefined, subscribers: 0 };
    const { context, options } = this;
    const cursor = { epoch: String(epochText), seq: Number(seqText) };
    let subscribers = Number(heardText);
    if (context.settings.replicas > 0) {
      const text = `{"e":"${cursor.epoch}","s":${cursor.seq},${head}}\n`;
      const call = {
        script: "publish",
        keys: keys.slice(-1),
        values: [Buffer.concat([Buffer.from(text), entry.frame])],
        bytes: entry.frame.byteLength,
        repeats: entry.numbered,
      } as const;
      // The entry is stored: subscribers read it later if this is lost.
      subscribers = Number(await context.link.run(call).catch(() => 0));
    }
    if (entry.numbered) {
      this.drafts.noteTop(sk, cursor.epoch, cursor.seq);
      this.receipts.add(sk, session, cursor.epoch, cursor.seq, entry.message);
      options.changed(session);
      await this.live.get(session)?.heard(cursor.epoch, cursor.seq);
    }
    return { cursor, subscribers };
  }

  private createLive(session: string): LiveSession {
    const options: LiveSessionOptions = {
      session,
      place: this.context.space.place(this.options.channel, session),
      own: (head: EntryHead) =>
        head.n === this.context.node.me ? this.own.get(head.c) : undefined,
      missing: (live) => {
        live.isFetching = true;
        void this.fetch(live);
      },
      heard: (live) => this.drafts.noteTop(live.place.sk, live.epoch, live.seq),
      renewed: (live) => this.renewed(live),
    };
    return new LiveSession(options);
  }

  private async open(live: LiveSession): Promise<void> {
    const { link, space, node, settings } = this.context;
    const { keys, sk } = live.place;
    await link.subscribe(keys.at(-1)!, (message) => live.received(message));
    const values = [
      ...this.drafts.seen(live.place.sk),
      node.me,
      settings.keepMs,
      this.addressOf(live.session),
      sk,
      space.nodes,
    ];
    const call = { script: "open", keys, values, repeats: true } as const;
    const [epoch, seq, listeners] = (await link.run(call)) as readonly Reply[];
    live.opening = undefined;
    if (live.isClosed) return;
    live.begin(String(epoch), Number(seq));
    this.drafts.noteTop(sk, live.epoch, live.seq);
    if (listeners === 1) this.options.listeners.sessionActive(live.session);
  }

  private drop(live: LiveSession): void {
    live.close();
    if (this.live.get(live.session) === live) this.live.delete(live.session);
  }

  private async leave({ session, place }: LiveSession): Promise<void> {
    const { link, space, node } = this.context;
    await link.unsubscribe(place.keys.at(-1)!);
    const values = [place.sk, space.nodes, node.me];
    const call = { script: "leave", keys: place.keys, values, repeats: true } as const;
    const listeners = await link.run(call).catch(() => 0);
    if (listeners === 0 && !this.live.has(session)) this.options.listeners.sessionIdle(session);
  }

  /** Reads what this node has missed. The caller has set `isFetching`. */
  private async fetch(live: LiveSession): Promise<void> {
    const { link, log } = this.context;
    const { keys, sk } = live.place;
    try {
      const call = { script: "catchUp", keys, values: [live.seq], repeats: true } as const;
      const reply = (await link.run(call)) as readonly Reply[];
      if (live.isClosed) return;
      const [epoch, top] = reply;
      const entries = toHeard(live.session, reply);
      const isSame = epoch !== null && epoch !== undefined && String(epoch) === live.epoch;
      const first = entries[0]?.cursor.seq ?? live.seq + 1;
      if (!isSame || first !== live.seq + 1) return this.renewed(live);
      if (Number(top) >= live.seq) return live.fetched(entries);
      // The store has lost entries that the subscribers here have received.
      const values = this.drafts.seen(live.place.sk);
      await link.run({ script: "renew", keys, values, repeats: true });
      this.renewed(live);
    } catch (error) {
      if (live.isClosed) return;
      live.isFetching = false;
      // When the store is there again, all sessions are compared.
      if (link.isUp) log.error({ err: error, session: sk }, "A session could not be read");
    }
  }

  private writeNote(
    session: string,
    {
      epoch,
      after,
      upTo,
      progress,
    }: SequenceRange & {
      readonly progress: DeliveryProgress;
    },
  ): void {
    const { link, space } = this.context;
    const { keys, sk } = this.placeOf(session);
    const values = [epoch, after, upTo, progress, sk, space.nodes];
    link.run({ script: "note", keys, values, repeats: true }).catch(() => undefined);
  }

  /** Keeps the streams of all sessions with subscribers here. */
  private scheduleTouch(): void {
    const { link, after, settings } = this.context;
    this.stopTimer = after(Math.min(maxTouchMs, settings.keepMs / 3), () => {
      for (const { place } of this.live.values())
        link
          .run({ script: "touch", keys: place.keys.slice(0, 3), values: [settings.keepMs] })
          .catch(() => undefined);
      this.scheduleTouch();
    });
  }
}
