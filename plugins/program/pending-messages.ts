// Tracks the messages that the program has received or is about to receive.
import type { Release } from "../../kernel/index.ts";
import { createHangDetector, type ProgramProcess } from "../../lib/child-process/index.ts";
import { BoundedMap, keyOf } from "../../lib/util.ts";
import type { Address, Message } from "../channels/index.ts";
import { programErrors } from "./errors.ts";
import type { MessageFiles } from "./message-media.ts";
import { encodeMessage, encodeStop } from "./protocol.ts";

/** Finished messages that later lines of the program may still name. */
const maxRemembered = 1_024;

type PendingOutcome = "answered" | "failed" | "stopped";

/** A message that the program has not finished. */
export class PendingMessage {
  /** Identifier for the program. Unique while this process lives. */
  readonly id: string;
  readonly message: Message;
  /** True while this message is the current one of its session. */
  isCurrent = false;
  isWritten = false;
  isReplying = false;
  /** True after a client stopped the message. Lines about it are dropped. */
  isStopped = false;
  /** The id of the person who stopped it. */
  stoppedBy: string | undefined;
  /** The stored files of the message, once they were found. */
  files: MessageFiles | undefined;
  private readonly owner: PendingMessages;
  /** Settles the message for its sender. */
  private readonly settled: (failure?: Error) => void;
  private cancelTimeout: Release | undefined;
  /** Open questions about this message. */
  private holds = 0;

  constructor(
    id: string,
    message: Message,
    owner: PendingMessages,
    settled: (failure?: Error) => void,
  ) {
    this.id = id;
    this.message = message;
    this.owner = owner;
    this.settled = settled;
  }

  /** Records that the program accepted the message. The next one of the session may follow, unless
   *  the program asked for it after the end of the answer. */
  accept(): void {
    this.message.accept();
    if (!this.owner.isOrdered()) this.leaveSession();
  }

  /** Records that the reply is being sent. From now on the channel decides the outcome. */
  startReply(): void {
    this.isReplying = true;
    this.cancelTimeout?.();
  }

  finish(): void {
    this.end("answered");
  }

  fail(error: Error): void {
    this.end("failed", error);
  }

  /** Fails the message, unless its reply is being sent. */
  reject(error: Error): void {
    if (!this.isReplying) this.fail(error);
  }

  /** From now on only the grace period of the stop limits the message. */
  stop(by?: string): void {
    this.isStopped = true;
    this.stoppedBy = by;
    this.cancelTimeout?.();
  }

  /** Lets the next message of the session follow. */
  leaveSession(): void {
    if (!this.isCurrent) return;
    this.isCurrent = false;
    this.owner.leaveSession(this);
  }

  /** Restarts the timeout after activity on this message. */
  touch(): void {
    if (this.isReplying || this.isStopped || this.holds > 0) return;
    const cancel = this.owner.startTimeout(this);
    if (!cancel) return;
    this.cancelTimeout?.();
    this.cancelTimeout = cancel;
  }

  /** Pauses the timeout while a person is asked. @returns A function that ends the pause, once. */
  hold(): Release {
    this.cancelTimeout?.();
    this.cancelTimeout = undefined;
    this.holds += 1;
    return () => {
      this.holds -= 1;
      this.touch();
    };
  }

  private end(outcome: PendingOutcome, error?: Error): void {
    if (this.owner.settle(this, this.isStopped ? "stopped" : outcome)) {
      this.cancelTimeout?.();
      this.settled(error);
    }
    this.leaveSession();
  }
}

interface PendingMessagesOptions {
  /** Counts the time in which this process runs, and reads what has arrived before it calls. */
  readonly afterRunning: (ms: number, run: () => void) => Release;
  readonly timeoutS: number;
  readonly running: () => ProgramProcess | undefined;
  /** Called once per message. */
  readonly settled: (outcome: PendingOutcome) => void;
  /**
   * Ends the messages of an answer. Resolves when they were sent.
   *
   * @throws The error for the sender, if one of them was lost.
   */
  readonly closeAnswer: (request: PendingMessage) => Promise<void>;
  /** Finds the stored files of a message. Undefined without any. Never rejects. */
  readonly findFiles: (message: Message) => Promise<MessageFiles> | undefined;
  /** @returns True if the program said that it can do this: `stop`, or `media` from paths. */
  readonly can: (name: string) => boolean;
  /** @returns True if the next message of a session waits for the end of the answer. */
  readonly isOrdered: () => boolean;
  /** @returns True while the program waits for the answer to a question. */
  readonly isAsking: () => boolean;
  /** @returns Why the program cannot receive messages now or soon, or undefined if it can. */
  readonly downReason: () => string | undefined;
  /** Called if the program has stopped responding. */
  readonly hung: (reason: string) => void;
  /** Called if the number of ignored stops changes. */
  readonly stopTimeoutsChanged: () => void;
}

interface FinishedMessage {
  readonly address: Address;
  readonly outcome: PendingOutcome;
}

/** The fields of a line that name a conversation. */
export interface LineAddress {
  readonly channel?: string | undefined;
  readonly session_id?: string | undefined;
  readonly payload: { readonly request_id?: string | undefined };
}

/**
 * Passes messages of one session to the program one at a time: the next one when the one before
 * is accepted, stopped or settled, or only when it is settled (`isOrdered`). Sessions run in
 * parallel. A message is not written before the program accepts input, so that a restarted program
 * can receive the waiting ones.
 */
export class PendingMessages {
  private readonly options: PendingMessagesOptions;
  private readonly hangDetector: ReturnType<typeof createHangDetector>;
  private readonly live = new Map<string, PendingMessage>();
  private readonly finished = new BoundedMap<string, FinishedMessage>(maxRemembered);
  /** Session -> messages that wait for the current one of the session. */
  private readonly sessionQueues = new Map<string, PendingMessage[]>();
  private readonly ready: PendingMessage[] = [];
  /** Current messages of their session whose files are being found. */
  private readonly preparing = new Set<PendingMessage>();
  /** Stopped messages that the program has not ended in time. */
  private readonly ignoredStops = new Set<string>();
  private count = 0;
  private isFull = false;

  constructor(options: PendingMessagesOptions) {
    this.options = options;
    this.hangDetector = createHangDetector(options.hung);
  }

  /** Settles with the message. Rejects with the error for its sender. */
  accept(message: Message): Promise<void> {
    const session = keyOf(message.channel, message.session);
    const { closeAnswer } = this.options;
    return new Promise((resolve, reject) => {
      const id = String((this.count += 1));
      const entry = new PendingMessage(id, message, this, (failure) => {
        const fail = (lost: Error): void => reject(failure ?? lost);
        void closeAnswer(entry).then(() => (failure ? reject(failure) : resolve()), fail);
      });
      const waiting = this.sessionQueues.get(session);
      if (waiting) return void waiting.push(entry);
      this.sessionQueues.set(session, []);
      this.begin(entry);
    });
  }

  isOrdered(): boolean {
    return this.options.isOrdered();
  }

  find(id: string): PendingMessage | undefined {
    return this.live.get(id);
  }

  /** @returns The address of a finished message and how it ended. */
  findFinished(id: string): FinishedMessage | undefined {
    return this.finished.get(id);
  }

  /**
   * Removes a message that the program has not received. Later ones of its session follow.
   *
   * @returns False if the program has received it.
   */
  withdraw(message: Message): boolean {
    const waiting = this.sessionQueues.get(keyOf(message.channel, message.session)) ?? [];
    const notWritten = [...waiting, ...this.preparing, ...this.ready];
    const entry = notWritten.find((each) => each.message === message);
    if (!entry) return false;
    if (!entry.isCurrent) waiting.splice(waiting.indexOf(entry), 1);
    this.live.set(entry.id, entry);
    this.removeFromReady(entry);
    entry.stop();
    entry.finish();
    return true;
  }

  /**
   * Stops the messages with this id that the program has received. If the program knows stop, it
   * reads a line about each. The next message of the session follows, or waits for the end.
   *
   * @returns The messages that were not stopped before.
   */
  stop(address: Address, id: string, by: string | undefined): readonly PendingMessage[] {
    const session = keyOf(address.channel, address.session);
    const begun = [...this.live.values()].filter(
      ({ isStopped, isWritten, message }) =>
        isWritten &&
        !isStopped &&
        message.id === id &&
        keyOf(message.channel, message.session) === session,
    );
    for (const entry of begun) this.stopWritten(entry, by);
    return begun;
  }

  /** Writes each stop that arrived earlier than the capability `stop` of the program. */
  writeStops(): void {
    for (const entry of this.live.values())
      if (entry.isWritten && entry.isStopped) this.writeStop(entry);
  }

  /** Drops later lines about the finished messages of a session. */
  forget(address: Address): void {
    const session = keyOf(address.channel, address.session);
    for (const [id, { address: own }] of this.finished)
      if (keyOf(own.channel, own.session) === session)
        this.finished.set(id, { address: own, outcome: "stopped" });
  }

  /** Gives up the stopped messages with this id, which the program has not ended in time. */
  giveUp(address: Address, id: string): void {
    const session = keyOf(address.channel, address.session);
    for (const entry of [...this.live.values()]) {
      if (
        !entry.isStopped ||
        entry.message.id !== id ||
        keyOf(entry.message.channel, entry.message.session) !== session
      )
        continue;
      entry.finish();
      this.ignoredStops.add(entry.id);
    }
    this.options.stopTimeoutsChanged();
  }

  /** Records that the program ended a message after the grace period of its stop. */
  endedLate(id: string): void {
    if (this.ignoredStops.delete(id)) this.options.stopTimeoutsChanged();
  }

  /** Stopped messages that the program has not ended in time, since its start. */
  stopTimeouts(): number {
    return this.ignoredStops.size;
  }

  /** @returns The address of a message that the program received. */
  addressOf(id: string): Address | undefined {
    return this.live.get(id)?.message ?? this.finished.get(id)?.address;
  }

  /** True for a message of this session that the program works on, or receives later. */
  isLive({ channel, session }: Address, id: string): boolean {
    return [...this.live.values()].some(
      ({ message }) =>
        message.id === id && message.channel === channel && message.session === session,
    );
  }

  /** @returns The conversation that a line of the program names; undefined if it names none. */
  addressIn({ channel = "pico", session_id: session, payload }: LineAddress): Address | undefined {
    if (payload.request_id !== undefined) return this.addressOf(payload.request_id);
    return session === undefined ? undefined : { channel, session };
  }

  /** True while the program does not read its input. */
  isBlocked(): boolean {
    return this.isFull;
  }

  /** Writes a line that is not a message. It is dropped if the program has ended. */
  writeLine(line: string): void {
    const program = this.options.running();
    if (program?.acceptsInput()) this.isFull = !program.write(line) || this.isFull;
  }

  /** Writes waiting messages after the program has read its input. */
  pump(): void {
    this.isFull = false;
    this.write();
  }

  /**
   * Fails the messages that the program received. If it does not come back soon (`isDown`), the
   * waiting ones fail too.
   */
  programEnded(how: string, isDown: boolean): void {
    this.isFull = false;
    this.hangDetector.reset();
    this.ignoredStops.clear();
    for (const entry of [...this.live.values()]) {
      if (entry.isReplying) continue;
      if (entry.isWritten || isDown)
        entry.fail(programErrors.application_ended(how, entry.isWritten));
    }
  }

  /** Records that the program wrote a line, valid or not. */
  outputReceived(): void {
    this.hangDetector.outputReceived();
  }

  /** Messages that the program has received and not finished. */
  inWork(): number {
    return this.live.size - this.ready.length - this.preparing.size;
  }

  /** Messages that wait to be written. */
  queued(): number {
    return [...this.sessionQueues.values()].reduce(
      (sum, waiting) => sum + waiting.length,
      this.ready.length + this.preparing.size,
    );
  }

  /** Makes a message the current one of its session. */
  private begin(entry: PendingMessage): void {
    entry.isCurrent = true;
    this.live.set(entry.id, entry);
    const reason = this.options.downReason();
    if (reason !== undefined) return entry.fail(programErrors.application_ended(reason, false));
    entry.touch();
    const files = this.options.findFiles(entry.message);
    if (!files) return this.makeReady(entry);
    // The next message of the session waits, so that the order stays.
    this.preparing.add(entry);
    void files.then((found) => {
      entry.files = found;
      if (this.preparing.delete(entry)) this.makeReady(entry);
    });
  }

  private makeReady(entry: PendingMessage): void {
    // The answers to questions of earlier programs come first.
    const isLater = (other: PendingMessage): boolean => other.message.answer === undefined;
    const at = entry.message.answer ? this.ready.findIndex(isLater) : -1;
    this.ready.splice(at === -1 ? this.ready.length : at, 0, entry);
    this.write();
  }

  private write(): void {
    const program = this.options.running();
    while (program?.acceptsInput() && !this.isFull && this.ready.length > 0) {
      const entry = this.ready.shift()!;
      entry.isWritten = true;
      entry.touch();
      const form = { files: entry.files, knowsMedia: this.options.can("media") };
      this.isFull = !program.write(encodeMessage(entry.id, entry.message, form));
    }
  }

  /**
   * The line is written even to a full pipe: it must precede the next message of the session. A
   * program that has not announced that it knows the line might fail on it.
   */
  private stopWritten(entry: PendingMessage, by: string | undefined): void {
    entry.stop(by);
    if (this.options.can("stop")) this.writeStop(entry);
    if (!this.isOrdered()) entry.leaveSession();
  }

  private writeStop({ id, message, stoppedBy, isReplying }: PendingMessage): void {
    if (!isReplying) this.writeLine(encodeStop(id, message, stoppedBy));
  }

  /** Lets the next message of the session follow. */
  leaveSession({ message }: PendingMessage): void {
    const session = keyOf(message.channel, message.session);
    const next = this.sessionQueues.get(session)?.shift();
    if (next) this.begin(next);
    else this.sessionQueues.delete(session);
  }

  /** @returns False if the message was settled before. */
  settle(entry: PendingMessage, outcome: PendingOutcome): boolean {
    if (outcome === "failed") this.removeFromReady(entry);
    if (!this.live.delete(entry.id)) {
      this.endedLate(entry.id);
      return false;
    }
    const { channel, session } = entry.message;
    this.finished.set(entry.id, { address: { channel, session }, outcome });
    this.options.settled(outcome);
    return true;
  }

  private removeFromReady(entry: PendingMessage): void {
    this.preparing.delete(entry);
    const index = this.ready.indexOf(entry);
    if (index !== -1) this.ready.splice(index, 1);
  }

  /** @returns The cancel function, or undefined if no timeout applies. */
  startTimeout(entry: PendingMessage): Release | undefined {
    const { timeoutS, afterRunning } = this.options;
    if (timeoutS === 0 || !this.live.has(entry.id)) return undefined;
    const round = this.hangDetector.currentRound();
    return afterRunning(timeoutS * 1_000, () => {
      entry.fail(programErrors.no_answer(timeoutS));
      // Silence of a program with an open question proves nothing.
      if (!this.options.isAsking()) this.hangDetector.timedOut(round);
    });
  }
}
