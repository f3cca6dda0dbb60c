/** One message in the application: from its delivery to the end of its last reply. */
import type { Awaitable, Release } from "../../kernel/index.ts";
import { readWithout } from "../../lib/pages.ts";
import type { Turn } from "../conversations/index.ts";
import { toAnswerEnd, toFailure, type Failure } from "./answer-end.ts";
import { channelsErrors } from "./errors.ts";
import { HandedCalls, logUnobserved } from "./handed-calls.ts";
import { checkId, checkMessage, readEnd } from "./message-schema.ts";
import { withOpen, withOpenIn } from "./open-files.ts";
import { toReply, type GrowingReply } from "./outbound.ts";
import { ReceivedMessage, type MessageCalls } from "./received-message.ts";
import { SentReplies } from "./sent-replies.ts";
import type {
  AnswerEnd,
  Ask,
  EndOptions,
  InboundMessage,
  Media,
  Message,
  PreviousTurn,
  QuestionInput,
  ReplyStream,
  RunningMessage,
  Sender,
} from "./contract.ts";
import { keepSuggestions } from "./suggestions.ts";
import type { ActiveApplication, RunOptions } from "./run-options.ts";
import type { Recorded } from "./traffic.ts";
import type { ReportingCallbacks } from "./deduped-delivery.ts";
import type { Asker, Slot } from "./session.ts";

/** Lists the messages whose end was not reported, in the same order. */
export const toRunning = (runs: readonly Run[]): readonly RunningMessage[] =>
  runs.flatMap(({ isOver, isEnding, message: { id, at } }) =>
    isOver && !isEnding ? [] : [{ id, at }],
  );

export class Run implements MessageCalls {
  readonly message: InboundMessage;
  private readonly options: RunOptions;
  private readonly outcome: ReportingCallbacks;
  private readonly times: Recorded | undefined;
  private readonly isRepeated: boolean;
  private slot: Slot | undefined;
  private application: ActiveApplication | undefined;
  private controller: AbortController | undefined;
  private ownSignal: AbortSignal | undefined;
  private streams: Set<ReplyStream> | undefined;
  private handed: HandedCalls | undefined;
  private replies: SentReplies | undefined;
  /** The error of a call that the application does not await. */
  private unobserved: { readonly error: unknown } | undefined;
  private graceTimer: Release | undefined;
  private givenEnd: EndOptions | undefined;
  private failure: Failure | undefined;
  private messages = 0;
  private hasAsked = false;
  /** The application named the reason of the end before a stop, so the stop changes nothing. */
  private isComplete = false;
  private hasTurn = false;
  private hasReleased = false;
  /** The channel has the outcome of the delivery. */
  private hasOutcome = false;
  private hasSettled = false;
  /** Settles with the acceptance of a message whose turn is being stored. */
  private accepting: Promise<void> | undefined;
  /** Settles when the turn is stored, or the message is stopped because it could not be. */
  private storing: Promise<void> | undefined;
  private hasLostTurn = false;
  private isStopped = false;
  /** A client has stopped the message. Its questions are settled before the application stops. */
  private isClosing = false;
  private isAborted = false;
  private isAccepted = false;
  /** Set when the application receives the message. */
  private received: Message | undefined;
  /** Conversations that were deleted before this message arrived. */
  private readonly deletedBefore: number;
  private hasReported = false;
  /** The kernel stops: the answer may end within a short time. */
  private isStopping = false;
  /** The application has sent a complete text. */
  private hasText = false;
  /** The stop of the kernel ended a text, or came before one, or the application was too late. */
  private isCut = false;
  /** True once the handler has settled and all its streams have ended. */
  isOver = false;
  /** The end waits until the acceptance is stored. */
  isEnding = false;

  /** Identifies this run as the asker of its questions. */
  private readonly asker: Asker;

  /**
   * @param arrival.times - Records the times of the message.
   * @param arrival.isRepeated - An earlier process ended before the application accepted it.
   */
  constructor(
    options: RunOptions,
    message: InboundMessage,
    outcome: ReportingCallbacks,
    arrival: { readonly times: Recorded | undefined; readonly isRepeated: boolean },
  ) {
    this.options = options;
    this.times = arrival.times;
    this.isRepeated = arrival.isRepeated;
    this.message = message;
    this.asker = {
      request: message.id,
      asks: () => this.acknowledge(),
      stopped: () => this.abort(channelsErrors.stopped()),
    };
    this.outcome = outcome;
    this.deletedBefore = options.deletions.count;
  }

  /** Adds `open` to the stored files of the message. */
  withOpen(media: readonly Media[]): readonly Media[] {
    return withOpen(this.options.openFile, media);
  }

  /** Adds `open` to the files of earlier turns, too. */
  withOpenIn(previous: readonly PreviousTurn[]): readonly PreviousTurn[] {
    return withOpenIn(this.options.openFile, previous);
  }

  start(slot: Slot): void {
    this.slot = slot;
    if (!this.isRepeated) return this.begin();
    this.options.retract(this.message).then(
      (hasTurn) => {
        this.hasTurn = hasTurn;
        this.begin();
      },
      (error: unknown) => this.leave(error),
    );
  }

  private begin(): void {
    const current = this.options.current();
    if (this.isStopped || this.isOver || !current) {
      const error = this.isStopping ? channelsErrors.not_running() : undefined;
      return this.leave(error ?? channelsErrors.no_application());
    }
    this.application = current;
    try {
      this.storeTurn();
    } catch (error) {
      return this.leave(error);
    }
    let result: void | Promise<void>;
    try {
      this.received = new ReceivedMessage(this, this.message);
      result = current.application(this.received, current.signal);
    } catch (error) {
      return this.settle(error, true);
    }
    if (result === undefined) this.settle(undefined, false);
    else
      Promise.resolve(result).then(
        () => this.settle(undefined, false),
        (error) => this.settle(error, true),
      );
  }

  /** Ends a message that the application has not received. An earlier process may have its turn. */
  private leave(error: unknown): void {
    this.reject(error);
    if (this.hasTurn) this.options.withdrawn(this.message, this.isClosing ? undefined : error);
    const isLate = this.isOver;
    this.hasSettled = this.isOver = true;
    this.graceTimer?.();
    this.release();
    if (!isLate) this.slot!.forget(this);
  }

  /** Rejects the delivery. @returns False if it has an outcome. */
  reject(error: unknown): boolean {
    return this.settleDelivery(() => this.outcome.rejected(error));
  }

  /** An error of the callbacks must not stop the next messages of the session. */
  private settleDelivery(report: () => void): boolean {
    if (this.hasOutcome) return false;
    this.hasOutcome = true;
    try {
      report();
    } catch (error) {
      this.options.outcomeFailed(error);
    }
    return true;
  }

  /**
   * Removes a message that the application has received and keeps in a queue of its own.
   *
   * @returns False if the application has begun with it.
   */
  withdraw(reason: Error): boolean {
    const { received } = this;
    if (this.isStopped || !received || !this.askToReturn(received)) return false;
    this.isStopped = this.isOver = true;
    this.reject(reason);
    if (this.hasTurn) this.options.withdrawn(this.message);
    this.release();
    this.slot!.forget(this);
    return true;
  }

  /** An application that fails here keeps the message, which is stopped as others are. */
  private askToReturn(received: Message): boolean {
    try {
      return this.application?.withdraw?.(received) === true;
    } catch (err) {
      const { channel, session, id } = this.message;
      const text = "the application failed to say whether it has begun with a message";
      this.options.log.error({ err, channel, session, id }, text);
      return false;
    }
  }

  /**
   * Settles the questions of the message before it is stopped.
   *
   * @returns A promise that never rejects; undefined if the message has no open question.
   */
  closeQuestions(by: Sender | undefined): Promise<unknown> | undefined {
    this.isClosing = true;
    return this.options.questions.closeRun(this.message, this.asker, "stopped", by);
  }

  /** Asks the application to stop. Does nothing the second time. */
  stop(reason: Error = channelsErrors.stopped()): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.abort(reason);
    this.reject(reason);
    // A message that the application has not received is over when its first answer is removed.
    if (this.isOver || !this.application) return;
    const graceMs = this.application.stopGraceMs;
    this.graceTimer = this.options.afterRunning(graceMs, () => this.giveUp(graceMs));
  }

  /**
   * Ends the texts of the answer, because the kernel stops. If the application then returns in
   * time, it has accepted the message.
   */
  cut(reason: Error): void {
    if (this.isStopping || this.isOver) return;
    this.isStopping = true;
    this.controller?.abort(reason);
    for (const stream of this.streams ?? []) {
      stream.abort(reason);
      this.isCut ||= stream.signal.aborted;
    }
  }

  /** Ends the answer of an application that has not ended in time: see `cut`. */
  giveUpAtStop(): void {
    if (this.isOver || !this.isStopping) return;
    if (!this.hasSettled) this.isCut = true;
    this.reject(channelsErrors.not_running());
    this.release();
    this.end();
  }

  /** Reports the end before the application has ended, because the conversation is deleted now. */
  reportEnd(): void {
    if (this.hasReported || this.isOver) return;
    this.hasReported = true;
    void this.tellEnd(this.toEnd(), this.options.clock.now() - this.message.at);
  }

  private abort(reason: Error): void {
    this.isAborted = true;
    this.controller?.abort(reason);
    for (const stream of this.streams ?? []) stream.abort(reason);
  }

  accept(): void {
    // A question has acknowledged the message, and did not let the next one in.
    if (this.isAccepted) return this.releaseNext();
    if (this.hasOutcome) return;
    const turn: Promise<void> | undefined = this.storing ?? this.addTurn();
    if (turn) this.accepting = turn.then(() => this.admit());
    else this.admit();
  }

  private admit(): void {
    if (this.confirm()) this.releaseNext();
  }

  private releaseNext(): void {
    if (!this.application?.isOrdered) this.release();
  }

  /** The application asks: its message is not handled again. The id is stored with the question. */
  private acknowledge(): void {
    if (this.hasOutcome) return;
    const turn: Promise<void> | undefined = this.storing ?? this.addTurn();
    if (turn) this.accepting ??= turn.then(() => void this.confirm());
    else this.confirm();
  }

  /**
   * Adds the message to the conversation of a store, in the turn of the loop in which the
   * application receives it.
   *
   * @throws The error of a store that refuses it: the application must not receive the message.
   */
  private storeTurn(): void {
    if (!this.options.keepsTurns(this.message.channel)) return;
    if (!this.hasTurn && !this.message.continues) {
      const stored = this.options.turn(this.message);
      this.hasTurn = true;
      this.storing = stored?.then(
        () => void (this.storing = undefined),
        (error: unknown) => this.loseTurn(error),
      );
    }
    this.options.begun(this.message);
  }

  /** Nothing of an answer is shown whose message could not be stored. */
  private loseTurn(error: unknown): void {
    this.storing = undefined;
    if (this.isOver || this.isStopped) return;
    this.logTurn(error);
    this.hasLostTurn = true;
    this.failure = { code: "not_stored" };
    this.stop(error instanceof Error ? error : new Error(String(error)));
  }

  /**
   * Adds the message to the conversation, unless that was done before or the message is stopped. A
   * failure is logged: the application has the message.
   *
   * @returns A promise that never rejects, if the channel needs time.
   */
  addTurn(): Promise<void> | undefined {
    // A request to continue has no content of its own.
    if (this.hasTurn || this.message.continues || this.isSilenced()) return undefined;
    this.hasTurn = true;
    try {
      return this.options.turn(this.message)?.catch((error: unknown) => this.logTurn(error));
    } catch (error) {
      this.logTurn(error);
      return undefined;
    }
  }

  private logTurn(error: unknown): void {
    const { channel, session, id } = this.message;
    const text = "the message could not be added to the conversation";
    this.options.log.error({ err: error, channel, session, id }, text);
  }

  /** @returns False if the delivery has another outcome. */
  private confirm(): boolean {
    if (this.settleDelivery(() => this.outcome.accepted("accepted"))) {
      this.isAccepted = true;
      this.times?.accepted();
    }
    return this.isAccepted;
  }

  signal(): AbortSignal {
    if (this.ownSignal) return this.ownSignal;
    this.controller = new AbortController();
    if (this.isAborted) this.controller.abort(channelsErrors.stopped());
    const { signal } = this.application!;
    return (this.ownSignal = AbortSignal.any([signal, this.controller.signal]));
  }

  history(options: Parameters<Message["history"]>[0]): ReturnType<Message["history"]> {
    return this.calls().watch("history", this.readHistory(options));
  }

  private readHistory(options: Parameters<Message["history"]>[0]): ReturnType<Message["history"]> {
    const isOwn = ({ role, id, requestId = id }: Turn): boolean =>
      role !== "assistant" && requestId === this.message.id;
    return readWithout((page) => this.options.history(this.message, page), options, isOwn);
  }

  noteEnd(options: EndOptions): void {
    const { end, leftOut } = readEnd(options);
    if (leftOut.length > 0) {
      const { channel, session, id } = this.message;
      const text = "facts about the end of an answer are left out: they have a wrong type";
      this.options.log.warn({ channel, session, id, facts: leftOut }, text);
    }
    this.keepEnd(end);
  }

  private keepEnd(options: EndOptions): void {
    const isInTime = !this.isStopped && !this.isClosing && !this.isCut;
    if (options.finishReason !== undefined && isInTime) this.isComplete = true;
    const { suggestions: given, ...facts } = options;
    const suggestions = given && keepSuggestions(given, this.message, this.options.log);
    this.givenEnd = { ...this.givenEnd, ...facts, ...(suggestions && { suggestions }) };
  }

  private calls(): HandedCalls {
    return (this.handed ??= new HandedCalls(
      (call, error) => this.failUnobserved(call, error),
      // A reply may be sent after the end of an application that ignores its stop.
      () => (this.isOver ? this.options.openReplies.forget(this.message) : this.endIfDone()),
    ));
  }

  /** Fails the message, because the application does not learn that a call has failed. */
  private failUnobserved(call: string, error: unknown): void {
    const { channel, session, id } = this.message;
    logUnobserved(this.options.log, error, { call, channel, session, id });
    if (this.isOver || this.isSilenced() || this.isStopping || this.unobserved) return;
    this.unobserved = { error };
    if (!this.hasSettled || this.failure) return;
    this.failure = toFailure(error);
    this.options.failed(this.message, error);
  }

  reply(message: GrowingReply): ReturnType<Message["reply"]> {
    return this.calls().handOut("reply", () => {
      if (this.isSilenced()) throw channelsErrors.stopped();
      const checked = checkMessage("reply", message);
      this.messages += 1;
      this.noteText(checked);
      void this.addTurn();
      const reply = toReply(this.message.id, checked);
      const sent = this.options.send(this.message, reply);
      if (!SentReplies.mustKeep(reply, this.message.id)) return sent;
      this.replies ??= new SentReplies();
      return this.replies.keep(sent, reply);
    });
  }

  update(id: string, message: GrowingReply): ReturnType<Message["update"]> {
    return this.calls().handOut("update", () => {
      if (this.isSilenced()) throw channelsErrors.stopped();
      checkId("update", id);
      const { added, ...checked } = checkMessage("update", message);
      if (checked.final === true) this.noteText(checked);
      const reply = {
        ...toReply(this.message.id, checked),
        ...(added !== undefined && { added }),
      };
      return this.options.update(this.message, id, this.replies?.merge(id, reply) ?? reply);
    });
  }

  readonly ask = ((question: QuestionInput) => {
    if (this.isClosing || this.isStopping || this.isSilenced() || this.isOver)
      return this.calls().watch("ask", Promise.reject(channelsErrors.stopped()));
    this.messages += 1;
    this.hasAsked = true;
    void this.addTurn();
    const asked = this.options.questions.ask(this.message, question, this.asker);
    return this.calls().watch<unknown>("ask", asked);
  }) as Ask;

  openStream(options: Parameters<Message["stream"]>[0]): ReplyStream {
    const inReplyTo = this.message.id;
    const opened = this.options.stream(
      { channel: this.message.channel, session: this.message.session },
      { inReplyTo, ...options },
      {
        begins: () => void this.addTurn(),
        finished: (end) => {
          this.hasText ||= options?.kind === undefined;
          this.keepEnd(end);
        },
        settled: () => {
          this.streams!.delete(opened);
          this.endIfDone();
        },
        ended: (end) => this.calls().handOut("end", end),
        failed: (call, error) => this.failUnobserved(call, error),
      },
    );
    (this.streams ??= new Set()).add(opened);
    this.messages += 1;
    if (this.isSilenced()) opened.abort(channelsErrors.stopped());
    return opened;
  }

  /** True if replies are dropped: the message was stopped, or its conversation is deleted. */
  private isSilenced(): boolean {
    const { deletions } = this.options;
    const isDeleted = deletions.count > this.deletedBefore;
    return (
      this.isStopped ||
      this.isClosing ||
      (isDeleted && deletions.hasSince(this.message, this.deletedBefore))
    );
  }

  private noteText(message: GrowingReply): void {
    const { usage, finishReason, model, suggestions, kind, final, placeholder } = message;
    if (kind !== undefined || final === false || placeholder === true) return;
    this.hasText = true;
    if ([usage, finishReason, model, suggestions].some((fact) => fact !== undefined))
      this.keepEnd({
        ...(usage && { usage }),
        ...(finishReason && { finishReason }),
        ...(suggestions && { suggestions }),
        ...(model !== undefined && { model }),
      });
  }

  private settle(error: unknown, hasFailed: boolean): void {
    if (!hasFailed && this.unobserved) return this.settle(this.unobserved.error, true);
    if (this.isClosing && !this.isStopped) this.reject(channelsErrors.stopped());
    else if (!hasFailed) this.accept();
    else if (this.isStopping && !this.isOver) {
      this.isCut = true;
      this.reject(channelsErrors.not_running());
    } else {
      if (!this.hasLostTurn) this.failure = toFailure(error);
      if (!this.reject(error) && !this.isStopped && !this.isStopping)
        this.options.failed(this.message, error);
    }
    this.hasSettled = true;
    if (!this.application?.isOrdered) this.release();
    this.endAfterQuestions();
  }

  /** The application needs no answer any more, so open questions are settled first. */
  private endAfterQuestions(): void {
    const outcome = this.failure?.code === "application_ended" ? "lost" : "withdrawn";
    const closing =
      this.hasAsked && this.options.questions.closeRun(this.message, this.asker, outcome);
    if (closing) void closing.then(() => this.endIfDone());
    else this.endIfDone();
  }

  private release(): void {
    if (this.hasReleased) return;
    this.hasReleased = true;
    this.slot!.release();
  }

  private endIfDone(): void {
    if (this.hasSettled && !this.streams?.size && this.handed?.areOpen !== true) this.end();
  }

  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.release();
    this.graceTimer?.();
    const { openReplies } = this.options;
    const cutting = this.isStopping ? openReplies.cut(this.message) : undefined;
    if (this.isStopping && (cutting || !this.hasText)) this.isCut = true;
    openReplies.forget(this.message);
    const end = this.toEnd();
    const ms = this.options.clock.now() - this.message.at;
    // A stop of the kernel waits until the acceptance is stored, and clients receive it first.
    const reported = this.accepting?.then(() => this.outcome.reporting);
    const reporting = reported ?? this.outcome.reporting;
    const waiting = cutting ? cutting.then(() => reporting) : reporting;
    if (!waiting) return this.report(end, ms);
    this.isEnding = true;
    const report = (): void => this.report(end, ms);
    void waiting.then(report, report);
  }

  private report(end: AnswerEnd, ms: number): void {
    this.isEnding = false;
    // A stop of the kernel waits until the clients have the end.
    const isAwaited = this.isStopping && !this.hasReported;
    if (!isAwaited) this.slot!.forget(this);
    if (this.hasReported) return;
    const told = this.tellEnd(end, ms);
    if (isAwaited) void Promise.resolve(told).finally(() => this.slot!.forget(this));
  }

  private tellEnd(end: AnswerEnd, ms: number): Awaitable<void> {
    this.times?.ended(end);
    return this.options.ended(this.message, end, ms);
  }

  private toEnd(): AnswerEnd {
    const { givenEnd, failure, isCut, isComplete, messages } = this;
    const isStopped = (this.isStopped || this.isClosing) && !this.hasLostTurn;
    return toAnswerEnd({ givenEnd, failure, isStopped, isCut, isComplete, messages });
  }

  /** Frees the session of an application that ignores the stop. Its later output is dropped. */
  private giveUp(graceMs: number): void {
    if (this.isOver) return;
    const seconds = graceMs / 1_000;
    const { channel, session, id } = this.message;
    const text = "the application did not end a stopped message; its session continues without it";
    this.options.log.warn({ channel, session, id, seconds }, text);
    this.options.stopTimedOut(this.message, seconds);
    this.release();
    this.end();
  }
}
