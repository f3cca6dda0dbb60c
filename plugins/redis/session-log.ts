// The session log of one channel in Redis. Any node appends; each node passes the entries on to its
// own subscribers.
import type { Awaitable } from "../../kernel/index.ts";
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
} from "../conversations/log/session-log.ts";
import type { ConversationHistory } from "../conversations/contract.ts";
import { findReplies } from "../conversations/find-replies.ts";
import { AppendDrafts, type AppendDraft } from "./append-drafts.ts";
import type { Reply } from "./driver.ts";
import type { SessionPlace } from "./keys.ts";
import type { RedisLogContext } from "./log-context.ts";
import { toHeardEntry, type OwnEntry } from "./live-session.ts";
import { LiveSessions } from "./live-sessions.ts";
import { NoteBuffer, type Note } from "./note-buffer.ts";
import { SentReceipts } from "./receipts.ts";
import { toReplay } from "./replies.ts";

interface RedisSessionLogOptions {
  readonly channel: string;
  readonly listeners: LogListeners;
  /** Frames kept for one session. @defaultValue 256 frames, 512 KiB */
  readonly window?: { readonly frames: number; readonly bytes: number };
  /** @returns The fence of a session that belongs to this node; empty for any other. */
  readonly fence: (sk: string) => string;
  /** The store has refused a write to this session with this fence. */
  readonly refused: (sk: string, fence: string, error: unknown) => void;
  readonly history: Pick<ConversationHistory, "find" | "read">;
  /** Entries of this session were stored. */
  readonly changed: (session: string) => void;
  /** A question was asked or settled. */
  readonly asked: () => void;
}

export const replayWindow = { frames: 256, bytes: 512 * 1024 };

export class RedisSessionLog implements SessionLog {
  readonly limits: LogLimits;
  readonly isShared = true;
  readonly receipts: SentReceipts;
  private readonly context: RedisLogContext;
  private readonly options: RedisSessionLogOptions;
  private readonly live: LiveSessions;
  private readonly drafts: AppendDrafts;
  private readonly own = new Map<number, OwnEntry>();
  private readonly notes: NoteBuffer;

  constructor(context: RedisLogContext, options: RedisSessionLogOptions) {
    this.context = context;
    this.options = options;
    this.drafts = new AppendDrafts(context);
    const { channel, listeners } = options;
    this.live = new LiveSessions(context, {
      channel,
      listeners,
      drafts: this.drafts,
      own: (counter) => this.own.get(counter),
      leaving: (session) => this.notes.flush(session),
    });
    this.limits = { ...(options.window ?? replayWindow), retentionMs: context.settings.keepMs };
    this.receipts = new SentReceipts((...receipt) => listeners.onReceipt(...receipt));
    this.notes = new NoteBuffer({
      after: context.after,
      write: (session, note) => this.writeNote(session, note),
      maxAppends: Math.max(1, Math.floor(this.limits.frames / 4)),
    });
  }

  /** Sessions with subscribers here. */
  get liveCount(): number {
    return this.live.size;
  }

  /** Sessions whose clients here had to reconnect. */
  get renewedCount(): number {
    return this.live.renewedCount;
  }

  /** History has both sides, so every turn is appended. */
  wantsTurns(): boolean {
    return true;
  }

  async hasTurn(session: string, request: string): Promise<boolean> {
    const address = { channel: this.options.channel, session };
    return (await findReplies(this.options.history, address, request)) !== undefined;
  }

  wantsEnds(session: string): boolean {
    return this.drafts.wantsEnds(this.live.placeOf(session).sk);
  }

  /** The conversation of this session was deleted. */
  forgotten(sk: string): void {
    this.drafts.forget(sk);
  }

  noteEndsRequested(sk: string): void {
    this.drafts.noteEndsRequested(sk);
  }

  async append(session: string, entry: LogEntry): Promise<AppendResult> {
    const { context, options, drafts } = this;
    const place = this.live.placeOf(session);
    this.notes.appended(session);
    const fence = options.fence(place.sk);
    const draft = drafts.create(place, entry, {
      address: this.live.addressOf(session),
      fence,
      here: () => this.live.get(session)?.isOpen ?? false,
    });
    const { counter, head, call } = draft;
    const own = { entry, growth: entry.growth };
    if (this.live.get(session)) this.own.set(counter, own);
    try {
      const reply = (await context.link.run(call)) as readonly Reply[];
      const [epoch, seq, , , isQuiet] = reply;
      if (isQuiet === 1) {
        const found = { ...head, e: String(epoch), s: Number(seq) };
        this.live
          .get(session)
          ?.hear(toHeardEntry(session, found, undefined, { own, me: context.node.me }));
      }
      return await this.appended(place, session, draft, reply);
    } catch (error) {
      options.refused(place.sk, fence, error);
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
    const { keys } = this.live.placeOf(session);
    const { epoch = "", seq = 0 } = cursor ?? {};
    const values = [epoch, seq, defaultStart, this.context.settings.keepMs];
    const call = { script: "read", keys, values, repeats: true } as const;
    return toReplay(await this.context.link.run(call), cursor);
  }

  subscribe(session: string, subscriber: Subscriber, options?: SubscribeOptions): Awaitable<void> {
    return this.live.subscribe(session, subscriber, options);
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
    this.live.unsubscribe(session, subscriber);
  }

  async top(session: string): Promise<Cursor | undefined> {
    const { keys } = this.live.placeOf(session);
    const call = { script: "top", keys, values: [], repeats: true } as const;
    const [epoch, seq] = (await this.context.link.run(call)) as readonly Reply[];
    return epoch ? { epoch: String(epoch), seq: Number(seq) } : undefined;
  }

  note(session: string, range: SequenceRange, progress: DeliveryProgress): void {
    this.notes.add(session, { ...range, progress });
  }

  replaceElsewhere(session: string, secret: string): void {
    const { link, space, node } = this.context;
    const fields = { t: "replaced", n: node.me, d: space.digest("connection", secret) };
    const [keys, values] = [
      this.live.placeOf(session).keys.slice(-1),
      [`${JSON.stringify(fields)}\n`],
    ];
    link.run({ script: "publish", keys, values }).catch(() => undefined);
  }

  /** See `LiveSessions.resync`. */
  resync(node?: string): Promise<readonly string[]> {
    return this.live.resync(node);
  }

  close(): void {
    this.notes.close();
    this.live.close();
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
      ? await this.publish(keys.at(-1)!, cursor, draft)
      : Number(heardText);
    if (entry.numbered) {
      this.drafts.noteTop(sk, cursor, wantsEnds === 1, entry.type === "message.user");
      this.receipts.add(sk, session, cursor.epoch, cursor.seq, entry.message);
      options.changed(session);
      if (entry.question) options.asked();
      await this.live.get(session)?.heard(cursor.epoch, cursor.seq);
    }
    return { cursor, subscribers };
  }

  /** Publishes an entry that replicas have confirmed. @returns How many nodes have received it. */
  private async publish(
    channel: string,
    { epoch, seq }: Cursor,
    { entry, head }: AppendDraft,
  ): Promise<number> {
    const text = `${JSON.stringify({ e: epoch, s: seq, ...head })}\n`;
    const call = {
      script: "publish",
      keys: [channel],
      values: [Buffer.concat([Buffer.from(text), entry.frame])],
      bytes: entry.frame.byteLength,
      repeats: entry.numbered,
    } as const;
    // The entry is stored: subscribers read it later if this is lost.
    return Number(await this.context.link.run(call).catch(() => 0));
  }

  private writeNote(session: string, { epoch, after, upTo, progress }: Note): void {
    const { sk } = this.live.placeOf(session);
    const values = [sk, epoch, after, upTo, progress];
    this.context.link.run({ script: "note", keys: [], values, repeats: true }).then(
      (mine) => void (mine !== 0 && this.receipts.acknowledge(sk, after, Number(mine))),
      () => undefined,
    );
  }
}
