// Tracks the messages that the program has received or is about to receive.
import type { Release } from "../../kernel/index.ts";
import type { Address, Message } from "../channels/index.ts";
import { programErrors } from "./errors.ts";
import type { ProgramProcess } from "./process.ts";
import { encodeMessage } from "./protocol.ts";
import { createHangDetector, type HangDetector } from "./supervisor.ts";

/** Finished messages that later lines of the program may still name. */
const maxRemembered = 1_024;

/** A message that the program has not finished. */
export interface PendingMessage {
  /** Identifier for the program. Unique while this process lives. */
  readonly id: string;
  readonly message: Message;
  /** Records that the program accepted the message. The next one of the session may follow. */
  accept(): void;
  /** Records that the reply is being sent. From now on the channel decides the outcome. */
  startReply(): void;
  finish(): void;
  fail(error: Error): void;
  /** Fails the message, unless its reply is being sent. */
  reject(error: Error): void;
  /** Restarts the timeout after activity on this message. */
  touch(): void;
}

interface PendingMessagesOptions {
  readonly after: (ms: number, run: () => void) => Release;
  readonly timeoutS: number;
  readonly running: () => ProgramProcess | undefined;
  /** Called once per message. */
  readonly settled: (isAnswered: boolean) => void;
  /** @returns Why the program cannot receive messages now or soon, or undefined if it can. */
  readonly downReason: () => string | undefined;
  /** Called if the program has stopped responding. */
  readonly hung: (reason: string) => void;
}

interface FinishedMessage {
  readonly address: Address;
  readonly isAnswered: boolean;
}

/**
 * Passes messages of one session to the program one at a time: the next one when the one before
 * is accepted or settled. Sessions run in parallel. A message is not written before the program
 * accepts input, so that a restarted program can receive the waiting ones.
 */
export class PendingMessages {
  private readonly options: PendingMessagesOptions;
  private readonly hangDetector: HangDetector;
  private readonly live = new Map<string, PendingEntry>();
  private readonly finished = new Map<string, FinishedMessage>();
  /** Session -> messages that wait for the current one of the session. */
  private readonly sessionQueues = new Map<string, (() => void)[]>();
  private readonly ready: PendingEntry[] = [];
  private count = 0;
  private isFull = false;

  constructor(options: PendingMessagesOptions) {
    this.options = options;
    this.hangDetector = createHangDetector(options.hung);
  }

  /** Settles with the message. Rejects with the error for its sender. */
  accept(message: Message): Promise<void> {
    const session = `${message.channel}\0${message.session}`;
    return new Promise((resolve, reject) => {
      const entry = new PendingEntry(String((this.count += 1)), message, {
        leaveSession: () => this.leaveSession(session),
        settle: (isAnswered) => this.settle(entry, isAnswered),
        startTimeout: () => this.startTimeout(entry),
        resolve,
        reject,
      });
      this.enterSession(session, () => {
        entry.isCurrent = true;
        this.live.set(entry.id, entry);
        const reason = this.options.downReason();
        if (reason !== undefined) return entry.fail(programErrors.application_ended(reason, false));
        entry.touch();
        this.ready.push(entry);
        this.write();
      });
    });
  }

  find(id: string): PendingMessage | undefined {
    return this.live.get(id);
  }

  /** @returns The address of a finished message and whether it was answered. */
  findFinished(id: string): FinishedMessage | undefined {
    return this.finished.get(id);
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
    return this.live.size - this.ready.length;
  }

  /** Messages that wait to be written. */
  queued(): number {
    return [...this.sessionQueues.values()].reduce(
      (sum, waiting) => sum + waiting.length,
      this.ready.length,
    );
  }

  private write(): void {
    const program = this.options.running();
    while (program?.acceptsInput() && !this.isFull && this.ready.length > 0) {
      const entry = this.ready.shift()!;
      entry.isWritten = true;
      entry.touch();
      this.isFull = !program.write(encodeMessage(entry.id, entry.message));
    }
  }

  private enterSession(session: string, begin: () => void): void {
    const waiting = this.sessionQueues.get(session);
    if (waiting) return void waiting.push(begin);
    this.sessionQueues.set(session, []);
    begin();
  }

  private leaveSession(session: string): void {
    const next = this.sessionQueues.get(session)?.shift();
    if (next) next();
    else this.sessionQueues.delete(session);
  }

  /** @returns False if the message was settled before. */
  private settle(entry: PendingEntry, isAnswered: boolean): boolean {
    if (!isAnswered) this.removeFromReady(entry);
    if (!this.live.delete(entry.id)) return false;
    const { channel, session } = entry.message;
    this.finished.set(entry.id, { address: { channel, session }, isAnswered });
    if (this.finished.size > maxRemembered)
      this.finished.delete(this.finished.keys().next().value!);
    this.options.settled(isAnswered);
    return true;
  }

  private removeFromReady(entry: PendingEntry): void {
    const index = this.ready.indexOf(entry);
    if (index !== -1) this.ready.splice(index, 1);
  }

  private startTimeout(entry: PendingEntry): Release | undefined {
    const { timeoutS, after } = this.options;
    if (timeoutS === 0 || !this.live.has(entry.id)) return undefined;
    const round = this.hangDetector.currentRound();
    return after(timeoutS * 1_000, () => {
      entry.fail(programErrors.no_answer(timeoutS));
      this.hangDetector.timedOut(round);
    });
  }
}

interface PendingEntryOwner {
  readonly leaveSession: () => void;
  readonly settle: (isAnswered: boolean) => boolean;
  /** @returns The cancel function, or undefined if no timeout applies. */
  readonly startTimeout: () => Release | undefined;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

class PendingEntry implements PendingMessage {
  readonly id: string;
  readonly message: Message;
  /** True while this message is the current one of its session. */
  isCurrent = false;
  isWritten = false;
  isReplying = false;
  private readonly owner: PendingEntryOwner;
  private cancelTimeout: Release | undefined;

  constructor(id: string, message: Message, owner: PendingEntryOwner) {
    this.id = id;
    this.message = message;
    this.owner = owner;
  }

  accept(): void {
    this.message.accept();
    this.leaveSession();
  }

  startReply(): void {
    this.isReplying = true;
    this.cancelTimeout?.();
  }

  finish(): void {
    if (this.settle(true)) this.owner.resolve();
    this.leaveSession();
  }

  fail(error: Error): void {
    if (this.settle(false)) this.owner.reject(error);
    this.leaveSession();
  }

  reject(error: Error): void {
    if (!this.isReplying) this.fail(error);
  }

  touch(): void {
    if (this.isReplying) return;
    const cancel = this.owner.startTimeout();
    if (!cancel) return;
    this.cancelTimeout?.();
    this.cancelTimeout = cancel;
  }

  private settle(isAnswered: boolean): boolean {
    const isFirst = this.owner.settle(isAnswered);
    if (isFirst) this.cancelTimeout?.();
    return isFirst;
  }

  private leaveSession(): void {
    if (!this.isCurrent) return;
    this.isCurrent = false;
    this.owner.leaveSession();
  }
}
