import type { Release } from "../../kernel/index.ts";
import type { Address, Message } from "../channels/index.ts";
import { encodeMessage } from "./protocol.ts";
import { programErrors } from "./errors.ts";
import type { ProgramProcess } from "./process.ts";
import { createHangDetector } from "./supervisor.ts";

/** Finished ones that later lines may still name. */
const maxRemembered = 1_024;

/** A message on its way through the program. */
export interface PendingMessage {
  /** Its name for the program, which no other message has while this process lives. */
  readonly id: string;
  readonly message: Message;
  /** The program answers for it from now on; its session's next message is given. */
  accept(): void;
  /** Its answer is on its way to the channel: from now on that decides. */
  answering(): void;
  finish(): void;
  fail(error: Error): void;
  /** Fails it, unless its answer is on its way. */
  refuse(error: Error): void;
  /** A sign of life: its time begins anew. */
  touch(): void;
}

export interface PendingMessagesOptions {
  readonly after: (ms: number, run: () => void) => Release;
  readonly timeoutS: number;
  readonly running: () => ProgramProcess | undefined;
  /** What becomes of the message, once. */
  readonly settled: (isAnswered: boolean) => void;
  /** Why nothing can be given now or soon. */
  readonly down: () => string | undefined;
  /** It gives no sign of anything any more. */
  readonly hung: (why: string) => void;
}

interface PendingEntry extends PendingMessage {
  isGiven: boolean;
  isAnswering: boolean;
}

export interface PendingMessages {
  /** Settles with the message: rejects with what its sender is told. */
  accept(message: Message): Promise<void>;
  find(id: string): PendingMessage | undefined;
  /** Where a finished one came from, and whether it was answered. */
  past(id: string): { readonly address: Address; readonly isAnswered: boolean } | undefined;
  /** Gives what waits, as far as the program takes it. */
  pump(): void;
  /** The program ended: what it was given fails, and when it does not come back what waits for it too. */
  ended(how: string, isDown: boolean): void;
  /** It said something, whatever it was. */
  heard(): void;
  inWork(): number;
  queued(): number;
}

/** Messages of one session are given one after the other, each when the one before is accepted or settled; sessions
 *  side by side. None is given before the program takes it, so that what waits can be kept for the next one. */
export function createPendingMessages({
  after,
  timeoutS,
  running,
  settled,
  down,
  hung,
}: PendingMessagesOptions): PendingMessages {
  const silence = createHangDetector(hung);
  const live = new Map<string, PendingEntry>();
  const past = new Map<string, { address: Address; isAnswered: boolean }>();
  /** Session -> those behind the one whose turn it is. */
  const lanes = new Map<string, (() => void)[]>();
  const ready: PendingEntry[] = [];
  let count = 0;
  let isFull = false;

  function remember(id: string, { channel, session }: Address, isAnswered: boolean): void {
    past.set(id, { address: { channel, session }, isAnswered });
    if (past.size > maxRemembered) past.delete(past.keys().next().value!);
  }

  function leaveLane(lane: string): void {
    const next = lanes.get(lane)?.shift();
    if (next) next();
    else lanes.delete(lane);
  }

  function enterLane(lane: string, begin: () => void): void {
    const waiting = lanes.get(lane);
    if (waiting) return void waiting.push(begin);
    lanes.set(lane, []);
    begin();
  }

  function pump(): void {
    const program = running();
    while (program?.takes() && !isFull && ready.length > 0) {
      const entry = ready.shift()!;
      entry.isGiven = true;
      entry.touch();
      isFull = !program.write(encodeMessage(entry.id, entry.message));
    }
  }

  function take(message: Message): Promise<void> {
    const lane = `${message.channel}\0${message.session}`;
    return new Promise((done, failed) => {
      let cancelTimer: Release | undefined;
      let isMyTurn = false;

      const release = (): void => {
        if (!isMyTurn) return;
        isMyTurn = false;
        leaveLane(lane);
      };
      const settle = (isAnswered: boolean): boolean => {
        if (!live.delete(entry.id)) return false;
        cancelTimer?.();
        remember(entry.id, message, isAnswered);
        settled(isAnswered);
        return true;
      };
      const entry: PendingEntry = {
        id: String((count += 1)),
        message,
        isGiven: false,
        isAnswering: false,
        accept() {
          message.accept();
          release();
        },
        answering() {
          entry.isAnswering = true;
          cancelTimer?.();
        },
        finish() {
          if (settle(true)) done();
          release();
        },
        fail(error) {
          const at = ready.indexOf(entry);
          if (at !== -1) ready.splice(at, 1);
          if (settle(false)) failed(error);
          release();
        },
        refuse(error) {
          if (!entry.isAnswering) entry.fail(error);
        },
        touch() {
          if (timeoutS === 0 || entry.isAnswering || !live.has(entry.id)) return;
          cancelTimer?.();
          const mark = silence.mark();
          cancelTimer = after(timeoutS * 1_000, () => {
            entry.fail(programErrors.no_answer(timeoutS));
            silence.passed(mark);
          });
        },
      };

      enterLane(lane, () => {
        isMyTurn = true;
        live.set(entry.id, entry);
        const reason = down();
        if (reason !== undefined) return entry.fail(programErrors.application_ended(reason, false));
        entry.touch();
        ready.push(entry);
        pump();
      });
    });
  }

  return {
    accept: take,
    find: (id) => live.get(id),
    past: (id) => past.get(id),
    pump() {
      isFull = false;
      pump();
    },
    heard: silence.broken,
    ended(how, isDown) {
      isFull = false;
      silence.begin();
      for (const entry of [...live.values()]) {
        if (entry.isAnswering) continue;
        if (entry.isGiven || isDown)
          entry.fail(programErrors.application_ended(how, entry.isGiven));
      }
    },
    inWork: () => live.size - ready.length,
    queued: () =>
      ready.length + [...lanes.values()].reduce((sum, waiting) => sum + waiting.length, 0),
  };
}
