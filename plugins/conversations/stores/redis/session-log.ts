// The session log of one channel in Redis. Any node appends; each node passes the entries on to its
// own subscribers.
import { codeOf, type Awaitable, type Release } from "../../../../kernel/index.ts";
import type {
  AppendResult,
  Cursor,
  DefaultStart,
  DeliveryProgress,
  JoinOptions,
  LogEntry,
  LogLimits,
  LogListeners,
  Replay,
  SequenceRange,
  SessionLog,
  SubscribeOptions,
  Subscriber,
} from "../../log/session-log.ts";
import type { ConversationHistory } from "../../service.ts";
import { findTurn } from "../find-turn.ts";
import { AppendDrafts, type AppendDraft } from "./append-drafts.ts";
import { catchUp } from "./catch-up.ts";
import { touchSessions } from "./expiry.ts";
import type { Reply } from "./driver.ts";
import type { SessionPlace } from "./keys.ts";
import type { RedisLogContext } from "./log-context.ts";
import {
  HeardEntry,
  LiveSession,
  type EntryHead,
  type LiveSessionOptions,
  type OwnEntry,
} from "./live-session.ts";
import { NoteBuffer, type Note } from "./note-buffer.ts";
import { publish } from "./publication.ts";
import { SentReceipts } from "./receipts.ts";
import { toReplay } from "./replies.ts";
import { leaveStream, openStream, wishEnds } from "./subscription-calls.ts";

interface RedisSessionLogOptions {
  readonly channel: string;
  readonly listeners: LogListeners;
  /** Frames kept for one session. @defaultValue 256 frames, 512 KiB */
  readonly window?: { readonly frames: number; readonly bytes: number };
  /** @returns The fence of a session that belongs to this node; empty for any other. */
  readonly fence: (sk: string) => string;
  /** The store has refused the fence of this session. */
  readonly refused: (sk: string) => void;
  readonly history: Pick<ConversationHistory, "find" | "read">;
  /** Entries of this session were stored. */
  readonly changed: (session: string) => void;
}

export const replayWindow = { frames: 256, bytes: 512 * 1024 };
/** Sessions that are compared with the store at the same time. */
const resyncWidth = 64;

export class RedisSessionLog implements SessionLog {
  readonly limits: LogLimits;
  readonly isShared = true;
  readonly receipts: SentReceipts;
  /** Sessions whose clients here had to reconnect. */
  renewedCount = 0;
  private readonly context: RedisLogContext;
  private readonly options: RedisSessionLogOptions;
  private readonly live = new Map<string, LiveSession>();
  private readonly drafts: AppendDrafts;
  private readonly own = new Map<number, OwnEntry>();
  private readonly notes: NoteBuffer;
  private readonly catchUpOptions = {
    seen: (sk: string) => this.drafts.seen(sk),
    renewed: (live: LiveSession) => this.renewed(live),
  };
  private readonly stopTouching: Release;

  constructor(context: RedisLogContext, options: RedisSessionLogOptions) {
    this.context = context;
    this.options = options;
    this.drafts = new AppendDrafts(context);
    this.limits = { ...(options.window ?? replayWindow), retentionMs: context.settings.keepMs };
    this.receipts = new SentReceipts((...receipt) => options.listeners.onReceipt(...receipt));
    this.notes = new NoteBuffer({
      after: context.after,
      write: (session, note) => this.writeNote(session, note),
      maxAppends: Math.max(1, Math.floor(this.limits.frames / 4)),
    });
    this.stopTouching = touchSessions(context, () => this.live.values());
  }

  /** Sessions with subscribers here. */
  get liveCount(): number {
    return this.live.size;
  }

  /** History has both sides, so every turn is appended. */
  wantsTurns(): boolean {
    return true;
  }

  hasTurn(session: string, request: string): Promise<boolean> {
    return findTurn(this.options.history, { channel: this.options.channel, session }, request);
  }

  wantsEnds(session: string): boolean {
    return this.drafts.wantsEnds(this.placeOf(session).sk);
  }

  noteWish(sk: string): void {
    this.drafts.noteWish(sk);
  }

  async append(session: string, entry: LogEntry): Promise<AppendResult> {
    const { context, options, drafts } = this;
    const place = this.placeOf(session);
    this.notes.appended(session);
    const draft = drafts.create(place, entry, {
      address: this.addressOf(session),
      fence: options.fence(place.sk),
      here: () => this.live.get(session)?.isOpen ?? false,
    });
    const { counter, head, call } = draft;
    const own = { entry, growth: entry.growth };
    if (this.live.has(session)) this.own.set(counter, own);
    try {
      const reply = (await context.link.run(call)) as readonly Reply[];
      const [epoch, seq, , , isQuiet] = reply;
      if (isQuiet === 1) {
        const found = { ...head, e: String(epoch), s: Number(seq) };
        this.live
          .get(session)
          ?.hear(new HeardEntry(session, found, undefined, { own, me: context.node.me }));
      }
      return await this.appended(place, session, draft, reply);
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

  subscribe(
    session: string,
    subscriber: Subscriber,
    { ends = false }: SubscribeOptions = {},
  ): Awaitable<void> {
    const existing = this.live.get(session);
    const live = existing ?? this.createLive(session);
    live.subscribers.add(subscriber);
    const isWish = ends && !live.wantsEnds;
    live.wantsEnds ||= ends;
    if (!existing) {
      this.live.set(session, live);
      const opening = this.open(live);
      opening.catch(() => this.drop(live));
      live.wait(opening);
    } else if (isWish) live.wait(this.wish(live, live.opening));
    return live.opening;
  }

  async join(
    session: string,
    subscriber: Subscriber,
    { after, defaultStart, ...options }: JoinOptions,
  ): Promise<Replay> {
    const opening = this.subscribe(session, subscriber, options);
    // Later entries will be heard, so the read need not wait for the rest.
    if (opening) await this.live.get(session)?.listening;
    const [replay] = await Promise.all([this.readAfter(session, after, defaultStart), opening]);
    return replay;
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

  replaceElsewhere(session: string, secret: string): void {
    const { link, space, node } = this.context;
    const fields = { t: "replaced", n: node.me, d: space.connectionDigest(secret) };
    const [keys, values] = [this.placeOf(session).keys.slice(-1), [`${JSON.stringify(fields)}\n`]];
    link.run({ script: "publish", keys, values }).catch(() => undefined);
  }

  /** Compares all sessions with subscribers here with the store. */
  async resync(): Promise<void> {
    const all = [...this.live.values()].filter(({ epoch }) => epoch !== "");
    for (let at = 0; at < all.length; at += resyncWidth)
      await Promise.all(
        all.slice(at, at + resyncWidth).map((live) => {
          live.isFetching = true;
          return catchUp(this.context, live, this.catchUpOptions);
        }),
      );
  }

  /** Closes the clients of a session: it has a new epoch. */
  renewed(live: LiveSession): void {
    if (live.isClosed) return;
    this.renewedCount += 1;
    this.drop(live);
    void this.unsubscribed(live.place, live.session);
    this.options.listeners.renewed(live.session);
  }

  close(): void {
    this.stopTouching();
    this.notes.close();
    for (const live of this.live.values()) live.close();
  }

  private replaced({ session }: LiveSession, node: unknown, digest: unknown): void {
    const { context, options } = this;
    if (node === context.node.me) return;
    const isSame = (secret: string): boolean => context.space.connectionDigest(secret) === digest;
    options.listeners.replaced?.(session, isSame);
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
    draft: AppendDraft,
    [epochText, seqText, heardText, wantsEnds]: readonly Reply[],
  ): Promise<AppendResult> {
    if (!epochText) return { cursor: undefined, subscribers: 0 };
    const { context, options } = this;
    const { entry } = draft;
    const cursor = { epoch: String(epochText), seq: Number(seqText) };
    const isConfirmed = context.settings.replicas > 0;
    const subscribers = isConfirmed
      ? await publish(context.link, { channel: keys.at(-1)!, cursor, draft })
      : Number(heardText);
    if (entry.numbered) {
      this.drafts.noteTop(sk, cursor, wantsEnds === 1, entry.type === "message.user");
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
      me: this.context.node.me,
      own: (head: EntryHead) =>
        head.n === this.context.node.me ? this.own.get(head.c) : undefined,
      missing: (live) => {
        live.isFetching = true;
        void catchUp(this.context, live, this.catchUpOptions);
      },
      heard: (live) => this.drafts.noteTop(live.place.sk, live),
      renewed: (live) => this.renewed(live),
      replaced: (live, node, digest) => this.replaced(live, node, digest),
    };
    return new LiveSession(options);
  }

  private async open(live: LiveSession): Promise<void> {
    const { sk } = live.place;
    const [seen, address] = [this.drafts.seen(sk), this.addressOf(live.session)];
    const { epoch, seq, listeners } = await openStream(this.context, live, { seen, address });
    if (live.isClosed) return;
    live.begin(epoch, seq);
    this.drafts.noteTop(sk, live);
    if (live.wantsEnds) this.drafts.noteWish(sk);
    if (listeners === 1) this.options.listeners.sessionActive(live.session);
  }

  /** Tells all nodes that a client here asks for the ends of answers. */
  private async wish({ place }: LiveSession, opening: Promise<void> | undefined): Promise<void> {
    try {
      await opening;
      this.drafts.noteWish(place.sk);
      await wishEnds(this.context, place);
    } catch {
      // The subscription has failed, or the store is away: its clients connect again.
    }
  }

  private drop(live: LiveSession): void {
    live.close();
    if (this.live.get(live.session) === live) this.live.delete(live.session);
  }

  private async leave({ session, place }: LiveSession): Promise<void> {
    if (!(await this.unsubscribed(place, session))) return;
    const listeners = await leaveStream(this.context, place);
    if (listeners === 0 && !this.live.has(session)) this.options.listeners.sessionIdle(session);
  }

  /**
   * Ends the subscription, after the appends that count on it: calls keep their order.
   *
   * @returns False if a client has joined the session in the meantime.
   */
  private async unsubscribed({ keys }: SessionPlace, session: string): Promise<boolean> {
    const { link } = this.context;
    await link.run({ script: "top", keys, values: [] }).catch(() => undefined);
    if (this.live.has(session)) return false;
    await link.unsubscribe(keys.at(-1)!);
    return true;
  }

  private writeNote(session: string, { epoch, after, upTo, progress }: Note): void {
    const { sk } = this.placeOf(session);
    const values = [sk, epoch, after, upTo, progress];
    this.context.link.run({ script: "note", keys: [], values, repeats: true }).then(
      (mine) => void (mine !== 0 && this.receipts.acknowledge(sk, after, Number(mine))),
      () => undefined,
    );
  }
}
