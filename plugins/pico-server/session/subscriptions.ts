// Reads sessions from a cursor on, and manages the sessions of one connection.
import { keyOf } from "../../../lib/util.ts";
import {
  encodeGrowth,
  encodePlaceholder,
  frameBytes,
  frameTypeOf,
  isNotice,
  frameText,
  frameWithPosition,
  memoizeLast,
  type EncodedFrame,
} from "../frame-encoding.ts";
import type { Awaitable } from "../../../kernel/index.ts";
import type { RunningMessage } from "../../channels/index.ts";
import type { Features } from "./features.ts";
import { missingQuestions, type OpenQuestions } from "./open-questions.ts";
import { SentTexts } from "./sent-texts.ts";
import { formOf } from "./whole-texts.ts";
import type {
  Cursor,
  JoinOptions,
  Replay,
  SequencedEntry,
  SessionLog,
  Subscriber,
} from "../../conversations/index.ts";

/** The messages that the application works on; undefined if that is not known. */
type Running = readonly RunningMessage[] | undefined;

/** The position of the stream and the frames to replay, which follow immediately. */
export type StreamStart = Replay & {
  readonly top: Cursor;
  readonly running: Running;
  readonly questions?: OpenQuestions;
};

export interface ReaderListener {
  begin(reader: SessionReader, start: StreamStart): void;
  accept(reader: SessionReader, entry: SequencedEntry): void;
  /**
   * All frames to replay, `count` of them with numbers, have been passed to `accept`.
   *
   * @param ends - The ends of the latest answers, if the log keeps them.
   */
  replayed(reader: SessionReader, count: number, ends?: Replay["ends"]): void;
  failed(error: unknown): void;
}

interface ReadFrom extends JoinOptions {
  /** The reader may return with a cursor. */
  readonly resumes: boolean;
  /** The reader receives the turns of people. */
  readonly turns: boolean;
  /** The reader receives the ends of answers. */
  readonly ends: boolean;
  /** Lists the messages that the application works on, for `hello`. */
  readonly running?: (() => Promise<Running>) | undefined;
  /** Lists the open questions, for a reader that may answer them. */
  readonly questions?: (() => Promise<OpenQuestions>) | undefined;
}

/**
 * Reads a session from a position on: first the stored frames, then new ones, each frame exactly
 * once.
 */
export class SessionReader implements Subscriber {
  readonly session: string;
  private readonly log: SessionLog;
  private readonly owner: ReaderListener;
  /**
   * Frames that arrived before the reader begins; undefined after that. The replay contains the
   * unnumbered ones that arrived before it.
   */
  private buffered: SequencedEntry[] | undefined = [];
  private hasReplay = false;
  /** A shared store may deliver entries up to this cursor again, after it was read. */
  private replayedTo: Cursor | undefined;
  private isOpen = true;

  constructor(log: SessionLog, session: string, owner: ReaderListener) {
    this.log = log;
    this.session = session;
    this.owner = owner;
  }

  start(from: ReadFrom): void {
    if (this.log.join)
      return void this.beginLater(this.log.join(this.session, this, from), from).catch((error) =>
        this.fail(error),
      );
    const subscribed = this.log.subscribe(this.session, this, from);
    if (subscribed instanceof Promise)
      void this.startLater(subscribed, from).catch((error) => this.fail(error));
    else this.readFrom(from);
  }

  onEntry(entry: SequencedEntry): void {
    if (this.buffered) {
      if (entry.numbered || this.hasReplay) this.buffered.push(entry);
      return;
    }
    if (this.replayedTo && entry.numbered) {
      const { epoch, seq } = this.replayedTo;
      if (entry.cursor.epoch === epoch && entry.cursor.seq <= seq) return;
      this.replayedTo = undefined;
    }
    this.owner.accept(this, entry);
  }

  stop(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.log.unsubscribe(this.session, this);
  }

  /** The client may have left before the subscription began. */
  private async startLater(subscribed: Promise<void>, from: ReadFrom): Promise<void> {
    await subscribed;
    if (this.isOpen) this.readFrom(from);
    else this.log.unsubscribe(this.session, this);
  }

  /** The client may have left before the replay was read. */
  private async beginLater(joined: Awaitable<Replay>, from: ReadFrom): Promise<void> {
    const replay = await joined;
    this.hasReplay = true;
    if (this.isOpen)
      this.begin(replay, ...(await Promise.all([from.running?.(), from.questions?.()])));
    else this.log.unsubscribe(this.session, this);
  }

  private readFrom(from: ReadFrom): void {
    const { after, defaultStart, running, questions } = from;
    const replay = this.log.readAfter(this.session, after, defaultStart);
    const isRead = !(replay instanceof Promise);
    this.hasReplay = isRead;
    if (isRead && !running && !questions) this.begin(replay, undefined, undefined);
    else this.beginLater(replay, from).catch((error) => this.fail(error));
  }

  private fail(error: unknown): void {
    if (this.isOpen) this.owner.failed(error);
  }

  private begin(replay: Replay, running: Running, questions: OpenQuestions): void {
    const { session, owner } = this;
    const { top, frames, partials } = replay;
    if (!this.isOpen || !top) return;
    owner.begin(this, { ...replay, top, running, ...(questions && { questions }) });
    frames.forEach((frame, index) => {
      const cursor = { epoch: top.epoch, seq: top.seq - frames.length + index + 1 };
      owner.accept(this, { session, cursor, frame, numbered: true });
    });
    for (const frame of [...partials, ...missingQuestions(questions, replay)])
      owner.accept(this, { session, cursor: top, frame, numbered: false });
    const buffered = this.buffered;
    this.buffered = undefined;
    this.replayedTo = top;
    for (const entry of buffered ?? [])
      if (!entry.numbered || entry.cursor.seq > top.seq) owner.accept(this, entry);
    owner.replayed(this, frames.length, replay.ends);
  }
}

interface OwnTurn {
  /** The acknowledgement of the message will contain the number. */
  readonly isAcknowledged: boolean;
  /** Set when the turn is in the log and its number has not been sent. */
  entry: SequencedEntry | undefined;
}

/**
 * The turns that the client of one connection wrote: it knows them, so it receives only the number.
 * Holds back the number of a turn until the acknowledgement. If another numbered frame must be sent
 * before, the number is released first, so that the client sees no hole.
 */
class OwnTurns {
  private readonly turns = new Map<string, OwnTurn>();
  /** Rejected messages whose turns may be in the log a moment later, oldest first. */
  private readonly late = new Set<string>();
  private held = 0;

  /** @param isAcknowledged - The acknowledgement of the message can contain the number. */
  expect(session: string, id: string, isAcknowledged: boolean): void {
    const key = keyOf(session, id);
    if (!this.turns.has(key) || this.late.delete(key))
      this.turns.set(key, { isAcknowledged, entry: undefined });
  }

  /** The message is rejected. Its turn may still come. */
  expectLate(session: string, id: string): void {
    const key = keyOf(session, id);
    this.turns.set(key, { isAcknowledged: false, entry: undefined });
    const [oldest = key] = this.late.add(key).size > maxLateTurns ? this.late : [];
    if (oldest !== key) this.forgetLate(oldest);
  }

  private forgetLate(key: string): void {
    if (this.late.delete(key)) this.turns.delete(key);
  }

  /**
   * @returns `none` if another client wrote the turn; `held` if its number is sent later; `own` if
   *   the caller must send the number now.
   */
  claim(entry: SequencedEntry): "none" | "held" | "own" {
    const { session, request } = entry;
    const key = request === undefined ? "" : keyOf(session, request);
    const turn = this.turns.get(key);
    if (!turn) return "none";
    if (!turn.isAcknowledged) {
      this.late.delete(key);
      this.turns.delete(key);
      return "own";
    }
    turn.entry = entry;
    this.held += 1;
    return "held";
  }

  /** The message is settled. @returns The turn whose number has not been sent. */
  settle(session: string, id: string): SequencedEntry | undefined {
    const key = keyOf(session, id);
    const entry = this.turns.get(key)?.entry;
    this.turns.delete(key);
    if (entry) this.held -= 1;
    return entry;
  }

  /**
   * @param before - Only turns with a lower number.
   * @returns The turns whose numbers have not been sent, in order. The caller sends them now.
   */
  release(before = Infinity): readonly SequencedEntry[] {
    if (this.held === 0) return [];
    const released: SequencedEntry[] = [];
    for (const turn of this.turns.values()) {
      if (!turn.entry || turn.entry.cursor.seq >= before) continue;
      released.push(turn.entry);
      turn.entry = undefined;
    }
    this.held -= released.length;
    return released.sort((a, b) => a.cursor.seq - b.cursor.seq);
  }
}

const maxLateTurns = 64;
const maxSessionsPerConnection = 64;

const frameOnce = memoizeLast(({ frame }) => frameBytes(frame));
const frameWithoutPosition = (entry: SequencedEntry): EncodedFrame =>
  entry.framed ?? frameOnce(entry);
const frameWithPositionOnce = memoizeLast(frameWithPosition);
const growthOnce = memoizeLast((entry) => frameText(encodeGrowth(entry, entry.growth!)));
const placeholderOnce = memoizeLast(encodePlaceholder);

export interface SubscriptionsOwner {
  /** @param whole - Encodes the whole text, if the frame has only the text that the entry adds. */
  send(
    frame: EncodedFrame,
    entry: SequencedEntry,
    whole?: (entry: SequencedEntry) => EncodedFrame,
  ): void;
  failed(error: unknown): void;
  readonly features: Features;
  /** Lists the open questions of a session; undefined if they are not known. */
  questions(session: string): Promise<OpenQuestions>;
  /** Called for the session of the extension only. */
  streamStarted(start: StreamStart): void;
  /**
   * `count` numbered frames were sent again. Called for the session of the extension only.
   *
   * @param ends - The ends of the latest answers, if the log keeps them.
   */
  streamReplayed(count: number, ends: Replay["ends"]): void;
}

/**
 * The sessions of one connection: at most 64, beyond which the least recently used one is dropped.
 * The session of the extension is never dropped; its frames have numbers and its client
 * acknowledges them.
 */
export class Subscriptions implements ReaderListener {
  private readonly log: SessionLog;
  private readonly owner: SubscriptionsOwner;
  /** Least recently used first. */
  private readers: SessionReader[] | undefined = undefined;
  private resumer: SessionReader | undefined = undefined;
  /** The range that this client may acknowledge: the numbers after its gap. */
  private acknowledgeable: { readonly epoch: string; readonly after: number } | undefined =
    undefined;
  private ownTurns: OwnTurns | undefined = undefined;
  /** Undefined if the client receives whole texts only. */
  private texts: SentTexts | undefined = undefined;
  private isOpen = true;

  constructor(log: SessionLog, owner: SubscriptionsOwner) {
    this.log = log;
    this.owner = owner;
  }

  /** Reads the session of a client of the extension from its cursor on. */
  resume(session: string, after: Cursor | undefined, running: ReadFrom["running"]): void {
    const { append, turns, ends } = this.owner.features;
    if (append) this.texts = new SentTexts();
    this.resumer = new SessionReader(this.log, session, this);
    const from = { after, defaultStart: "acknowledged", resumes: true, turns, ends } as const;
    this.resumer.start({ ...from, running, questions: this.questionsOf(session) });
  }

  /**
   * Subscribes to the session from now on. Receiving a frame of a session and naming it count as
   * use.
   */
  use(session: string): void {
    if (!this.isOpen || this.has(session)) return;
    const reader = new SessionReader(this.log, session, this);
    const readers = (this.readers ??= []);
    if (readers.length === maxSessionsPerConnection) readers.shift()!.stop();
    readers.push(reader);
    // the replay may exceed the send queue and close this object
    const { turns, ends } = this.owner.features;
    const questions = this.questionsOf(session);
    reader.start({ after: undefined, resumes: false, turns, ends, questions });
  }

  private questionsOf(session: string): ReadFrom["questions"] {
    const { owner } = this;
    return owner.features.questions ? () => owner.questions(session) : undefined;
  }

  /** True if the connection subscribes to this session. Counts as a use of it. */
  has(session: string): boolean {
    return session === this.resumer?.session || this.touch(session);
  }

  /** The client has received everything of the extension's session up to `seq`. */
  acknowledge(seq: number): void {
    if (this.resumer && this.acknowledgeable)
      this.log.note(this.resumer.session, { ...this.acknowledgeable, upTo: seq }, "acknowledged");
  }

  /** True if the predicate holds for one of the sessions. */
  some(predicate: (session: string) => boolean): boolean {
    const matches = ({ session }: SessionReader): boolean => predicate(session);
    return (
      (this.readers?.some(matches) ?? false) ||
      (this.resumer !== undefined && matches(this.resumer))
    );
  }

  close(): void {
    this.isOpen = false;
    this.resumer?.stop();
    for (const reader of this.readers ?? []) reader.stop();
    this.readers = undefined;
  }

  begin(reader: SessionReader, start: StreamStart): void {
    if (reader !== this.resumer) return;
    const { gap, top } = start;
    this.acknowledgeable = { epoch: top.epoch, after: gap && "to" in gap ? gap.to : 0 };
    this.owner.streamStarted(start);
  }

  accept(reader: SessionReader, entry: SequencedEntry): void {
    const type = frameTypeOf(entry);
    if (type === "message.user") return this.acceptTurn(reader, entry);
    if (type === "answer.end" && !this.owner.features.ends) return;
    if (!this.owner.features.notices && isNotice(entry)) return this.skip(reader, entry);
    const isResumer = reader === this.resumer;
    if (!isResumer && this.readers && this.readers.length > 1) this.touch(reader.session);
    const hasPosition = isResumer && entry.numbered;
    if (hasPosition) this.releaseTurns();
    const whole = hasPosition ? frameWithPositionOnce : frameWithoutPosition;
    const form = formOf(entry, isResumer ? this.texts : undefined);
    if (form === "added") this.owner.send(growthOnce(entry), entry, whole);
    else if (form === "whole") this.owner.send(whole(entry), entry);
  }

  replayed(reader: SessionReader, count: number, ends: Replay["ends"]): void {
    if (reader === this.resumer) this.owner.streamReplayed(count, ends);
  }

  /** The client sends this message, so it will not receive it as the turn of another device. */
  expectTurn(session: string, id: string, isAcknowledged: boolean): void {
    const hasPosition = session === this.resumer?.session;
    (this.ownTurns ??= new OwnTurns()).expect(session, id, isAcknowledged && hasPosition);
  }

  /** @returns The position of the client's own turn, if it has not been sent. */
  takeTurn(session: string, id: string): Cursor | undefined {
    const entry = this.ownTurns?.settle(session, id);
    if (entry) this.releaseTurns(entry.cursor.seq);
    return entry?.cursor;
  }

  /** The message was rejected, so no acknowledgement will contain the number of its turn. */
  dropTurn(session: string, id: string): void {
    const entry = this.ownTurns?.settle(session, id);
    if (!entry) return this.ownTurns?.expectLate(session, id);
    this.releaseTurns(entry.cursor.seq);
    this.owner.send(placeholderOnce(entry), entry);
  }

  /** The client receives the number of the frame only, or nothing if it knows no numbers. */
  private skip(reader: SessionReader, entry: SequencedEntry): void {
    if (reader !== this.resumer || !entry.numbered) return;
    this.releaseTurns();
    this.owner.send(placeholderOnce(entry), entry);
  }

  /** Clients without turns receive the number only, or nothing if they know no numbers. */
  private acceptTurn(reader: SessionReader, entry: SequencedEntry): void {
    const isResumer = reader === this.resumer;
    const { turns, waiting } = this.owner.features;
    const claimed = waiting ? "none" : turns ? (this.ownTurns?.claim(entry) ?? "none") : "own";
    if (claimed === "held") return;
    if (!isResumer) {
      if (claimed === "none") this.owner.send(frameWithoutPosition(entry), entry);
      return;
    }
    this.releaseTurns();
    const encode = claimed === "none" ? frameWithPositionOnce : placeholderOnce;
    this.owner.send(encode(entry), entry);
  }

  private releaseTurns(before?: number): void {
    for (const entry of this.ownTurns?.release(before) ?? [])
      this.owner.send(placeholderOnce(entry), entry);
  }

  failed(error: unknown): void {
    this.owner.failed(error);
  }

  private touch(session: string): boolean {
    const { readers } = this;
    if (readers === undefined) return false;
    const last = readers.length - 1;
    if (readers[last]?.session === session) return true;
    const index = readers.findIndex((reader) => reader.session === session);
    if (index === -1) return false;
    readers.push(...readers.splice(index, 1));
    return true;
  }
}
