/** Delivers inbound messages to the application and reports the outcome to their channel. */
import { codeOf, type Release } from "../../kernel/index.ts";
import { Dedupe } from "./dedupe.ts";
import {
  DedupedDelivery,
  settleAgain,
  type DedupeContext,
  type ReportingCallbacks,
} from "./deduped-delivery.ts";
import { channelsErrors } from "./errors.ts";
import { KnownIds } from "./known-ids.ts";
import { maxHops } from "./outbound.ts";
import type { ActiveApplication, RunOptions } from "./run-options.ts";
import { Run, toRunning } from "./runs.ts";
import { assertSuggestions } from "./suggestions.ts";
import type { Recorded } from "./traffic.ts";
import type { PassOptions, TakenIds } from "../conversations/index.ts";
import type {
  Address,
  Application,
  ApplicationOptions,
  DeliveryCallbacks,
  InboundMessage,
  RunningMessage,
  Sender,
  Stopper,
  StopResult,
} from "./contract.ts";
import type { DeliveryRecord, HeldDelivery, Session } from "./session.ts";
import { SessionQueues } from "./session-queues.ts";
import type { Sessions } from "./sessions.ts";
import { mayStop } from "./stop-rights.ts";

interface InboundOptions extends Omit<RunOptions, "outcomeFailed" | "current" | "begun"> {
  readonly sessions: Sessions;
  /** Keeps the ids of accepted and stopped messages, if a plugin does. */
  readonly taken: TakenIds | undefined;
  /** @returns The record of its times, if a plugin has asked for them. */
  readonly received: (message: InboundMessage) => Recorded | undefined;
  /** Runs for each message that is asked to stop. */
  readonly stopAsked: (message: InboundMessage, by: Sender | undefined) => void;
}

/** How long a stopped message may occupy its session, unless the application says otherwise. */
const defaultStopGraceS = 10;

/** Delivers messages to the application: each session in order, different sessions in parallel. */
export class Inbound {
  readonly queues: SessionQueues<Run>;
  private readonly dedupeContext: DedupeContext;
  private readonly options: InboundOptions;
  private readonly runOptions: RunOptions;
  private current:
    | (Pick<ActiveApplication, "application" | "isOrdered" | "stopGraceMs" | "withdraw"> & {
        readonly width: number;
        readonly suggestions: readonly string[] | undefined;
        readonly can: ApplicationOptions["can"];
        readonly status: ApplicationOptions["status"];
      })
    | undefined;
  private stopping: AbortController | undefined;
  private hasWarned = false;
  /** Channels whose answers end, because the kernel stops. */
  private readonly cutChannels = new Set<string>();
  private readonly dedupe: Dedupe;
  private readonly knownIds: KnownIds | undefined;

  constructor(options: InboundOptions) {
    this.options = options;
    const { taken, sessions } = options;
    this.queues = new SessionQueues(() => this.current?.width ?? 1, sessions);
    this.dedupe = new Dedupe(options.clock, sessions);
    this.dedupeContext = { dedupe: this.dedupe, taken, failed: this.outcomeFailed };
    this.knownIds = taken && new KnownIds(taken, this.dedupe, sessions, this.outcomeFailed);
    this.runOptions = {
      ...options,
      outcomeFailed: this.outcomeFailed,
      current: () => this.activeApplication(),
      failed: (message, error) => this.failedAfterAcceptance(message, error),
      begun: (message) => this.dedupe.noteBegun(message),
    };
  }

  /** True if the application works on a message of the session, or one waits. */
  isBusy(channel: string, session?: string): boolean {
    return this.queues.has(channel, session);
  }

  handle(application: Application, options: ApplicationOptions = {}): Release {
    const { perSession = 1, stopGraceS = defaultStopGraceS, order = "accepted" } = options;
    const { suggestions, withdraw, can, status } = options;
    if (typeof application !== "function")
      throw channelsErrors.application_invalid(application === null ? "null" : typeof application);
    if (this.current) throw channelsErrors.application_taken();
    if (suggestions) assertSuggestions(suggestions);
    const width = Math.max(1, perSession);
    const stopGraceMs = stopGraceS * 1_000;
    const isOrdered = order === "ended";
    const own = { application, width, stopGraceMs, isOrdered };
    const registration = { ...own, suggestions, withdraw, can, status };
    this.current = registration;
    return () => {
      if (this.current === registration) this.current = undefined;
    };
  }

  readonly can = (name: string): boolean => this.current?.can?.().includes(name) === true;

  /** Reads the status of the application, unchecked. */
  readonly status = (): unknown => this.current?.status?.();

  suggestions(): readonly string[] | undefined {
    return this.current?.suggestions;
  }

  deliver(
    inboundMessage: InboundMessage,
    deliveryCallbacks: DeliveryCallbacks,
    { dedupe: isDeduplicated = false, stopped = false }: PassOptions = {},
  ): void {
    const delivery: HeldDelivery = {
      message: inboundMessage,
      isMessage: true,
      isDeduplicated,
      isStopped: stopped,
      run: () =>
        delivery.isStopped
          ? this.rejectStopped(inboundMessage, deliveryCallbacks, { isDeduplicated })
          : this.deliverNow(inboundMessage, deliveryCallbacks, isDeduplicated),
      discard: () =>
        this.rejectStopped(inboundMessage, deliveryCallbacks, { isDeduplicated, isDeleted: true }),
      reject: (error) => deliveryCallbacks.rejected(error),
    };
    if (this.knownIds) this.knownIds.deliver(delivery);
    else delivery.run();
  }

  /** Rejects a message that was stopped while it waited. It is known when it is repeated. */
  private rejectStopped(
    inboundMessage: InboundMessage,
    deliveryCallbacks: DeliveryCallbacks,
    {
      isDeduplicated,
      isDeleted = false,
    }: { readonly isDeduplicated: boolean; readonly isDeleted?: boolean },
  ): void {
    const { dedupe, dedupeContext } = this;
    const stopped = channelsErrors.stopped();
    if (!isDeduplicated) return deliveryCallbacks.rejected(stopped);
    const before = dedupe.find(inboundMessage);
    if (before) return this.deliverAgain(inboundMessage, before, deliveryCallbacks);
    const record = dedupe.remember(inboundMessage);
    record.isDiscarded = isDeleted;
    new DedupedDelivery(dedupeContext, inboundMessage, record, deliveryCallbacks).rejected(stopped);
  }

  private deliverNow(
    inboundMessage: InboundMessage,
    deliveryCallbacks: DeliveryCallbacks,
    isDeduplicated: boolean,
  ): void {
    const { dedupe } = this;
    if (!this.stopping || this.cutChannels.has(inboundMessage.channel))
      return deliveryCallbacks.rejected(channelsErrors.not_running());
    if (inboundMessage.hops > maxHops) return deliveryCallbacks.rejected(channelsErrors.loop());
    const before = isDeduplicated ? dedupe.find(inboundMessage) : undefined;
    if (before) return this.deliverAgain(inboundMessage, before, deliveryCallbacks);
    try {
      if (isDeduplicated && this.isDeleted(inboundMessage))
        return deliveryCallbacks.rejected(channelsErrors.stopped());
    } catch (error) {
      return deliveryCallbacks.rejected(error);
    }
    if (!this.current) {
      this.warnOfMissingApplication({ channel: inboundMessage.channel });
      return deliveryCallbacks.rejected(channelsErrors.no_application());
    }
    if (!isDeduplicated) return this.enqueue(inboundMessage, deliveryCallbacks);
    const isRepeated = dedupe.takeBegun(inboundMessage);
    const record = dedupe.remember(inboundMessage);
    this.enqueue(
      inboundMessage,
      new DedupedDelivery(this.dedupeContext, inboundMessage, record, deliveryCallbacks),
      isRepeated,
    );
  }

  private isDeleted({ channel, session, id }: InboundMessage): boolean {
    return this.options.taken?.isDeleted?.({ channel, session }, id) === true;
  }

  start(): void {
    this.stopping = new AbortController();
  }

  /**
   * Rejects the messages of a channel that wait, and asks the application to end those that it
   * works on. Its own signal aborts when no other channel has a message.
   */
  cut(channel: string): void {
    if (this.cutChannels.has(channel)) return;
    this.cutChannels.add(channel);
    for (const run of this.queues.clear(channel)) run.reject(channelsErrors.not_running());
    for (const run of this.queues.allStarted(channel)) run.cut(channelsErrors.not_running());
    const isLast = this.queues
      .allStarted()
      .every(({ message }) => this.cutChannels.has(message.channel));
    if (isLast) this.stopping?.abort(channelsErrors.not_running());
  }

  /** Ends the answers that have not ended since `cut`. Their messages are rejected. */
  giveUp(channel: string): void {
    for (const run of this.queues.allStarted(channel)) run.giveUpAtStop();
  }

  /** Rejects everything that arrives from now on. No message is left. */
  stop(): void {
    this.stopping?.abort(channelsErrors.not_running());
    this.stopping = undefined;
  }

  /** Stops one message of a session here, or all that run or wait. */
  stopHere(to: Address, id?: string, by?: Stopper): readonly StopResult[] {
    const { channel, session } = to;
    const results = this.options.sessions.find(to)?.stop(id, by) ?? [];
    if (id === undefined || results.length > 0) return results;
    // Nothing is said about messages of others.
    const isKnown = by?.ownOnly !== true && this.dedupe.find({ channel, session, id });
    return [{ id, status: isKnown ? "over" : "unknown" }];
  }

  /**
   * Removes the messages of a session that the application has not begun with, and asks it once to
   * stop each of the others.
   */
  stopTasks(
    session: Session,
    id: string | undefined,
    by: Stopper | undefined,
  ): readonly StopResult[] {
    const isMeant = ({ message }: Run): boolean =>
      (id ?? message.id) === message.id && mayStop(by, message.sender);
    const { removed, running } = this.removeUnstarted(session, isMeant);
    const { ownOnly: _, ...sender } = by ?? {};
    const who = by && (sender as Sender);
    for (const { message } of removed) this.options.stopAsked(message, who);
    for (const run of running) this.stopRun(run, who);
    return [
      ...removed.map(({ message }): StopResult => ({ id: message.id, status: "removed" })),
      ...running.map(({ message }): StopResult => ({ id: message.id, status: "stopping" })),
    ];
  }

  /** As `stopHere`, where no other node can have the session. */
  async stopMessages(...given: Parameters<Inbound["stopHere"]>): Promise<readonly StopResult[]> {
    return this.stopHere(...given);
  }

  /** Lists the messages that the application of this process works on, oldest first. */
  runningHere(channel: string, session: string): readonly RunningMessage[] {
    return toRunning(this.queues.started(channel, session));
  }

  /** As `runningHere`, where no other node can have the session. */
  async running(channel: string, session: string): Promise<readonly RunningMessage[]> {
    return this.runningHere(channel, session);
  }

  /** Clients see that the questions of a message are settled before its application stops. */
  private stopRun(run: Run, by: Sender | undefined): void {
    const stop = (): void => {
      this.options.stopAsked(run.message, by);
      run.stop();
    };
    const closing = run.closeQuestions(by);
    // The application learns the outcome of its questions first.
    if (closing) void closing.then(() => setImmediate(stop));
    else stop();
  }

  /**
   * Ends the messages of a session whose conversation is deleted. Nothing of them is stored or sent
   * any more; a client that repeats one of them is refused.
   *
   * @returns A function that lets later messages of the session continue.
   */
  forget(address: Address): Release {
    const { channel, session } = address;
    const release = this.knownIds?.hold(address);
    this.dedupe.discardOpen(address);
    this.stopHere(address);
    for (const run of this.queues.started(channel, session)) run.reportEnd();
    return release ?? (() => undefined);
  }

  /**
   * Loads the ids of a session that the store knows, at least this one.
   *
   * @returns A promise that never rejects; undefined if they are known.
   */
  loadIds(address: Address, id = ""): Promise<void> | undefined {
    return this.knownIds?.load({ channel: address.channel, session: address.session, id });
  }

  /** Ends the messages of a session that another node has taken over. */
  abandon({ channel, session }: Address): void {
    const reason = channelsErrors.not_owner();
    const { running } = this.removeUnstarted({ channel, session }, () => true, reason);
    for (const run of running) run.stop(reason);
    this.dedupe.forgetSession({ channel, session });
  }

  /** @returns The messages that the application has not begun with, and the others. */
  private removeUnstarted(
    { channel, session }: Address,
    matches: (run: Run) => boolean,
    reason: Error = channelsErrors.stopped(),
  ): { readonly removed: readonly Run[]; readonly running: readonly Run[] } {
    const isMeant = (run: Run): boolean => !run.isOver && matches(run);
    const waiting = this.queues.remove(channel, session, isMeant);
    for (const run of waiting) run.reject(reason);
    const started = this.queues.started(channel, session).filter(isMeant);
    const withdrawn = new Set(started.toReversed().filter((run) => run.withdraw(reason)));
    return {
      removed: [...started.filter((run) => withdrawn.has(run)), ...waiting],
      running: started.filter((run) => !withdrawn.has(run)),
    };
  }

  /** Reads the ids of a session again before the next message. */
  forgetIds(address: Address): void {
    this.dedupe.forgetSession(address);
  }

  private readonly outcomeFailed = (err: unknown): void =>
    this.options.log.error({ err }, "a channel failed to process the outcome of a message");

  /** Adds a message to the conversation before an answer that is not sent by `reply`. */
  beginAnswer({ channel, session }: Address, id: string): void {
    for (const run of this.queues.started(channel, session))
      if (run.message.id === id) void run.addTurn();
  }

  /** Warns once if there is no application. */
  warnOfMissingApplication(fields: { readonly channel?: string } = {}): void {
    if (this.current || this.hasWarned) return;
    this.hasWarned = true;
    this.options.log.warn(fields, channelsErrors.no_application().message);
  }

  private deliverAgain(
    inboundMessage: InboundMessage,
    before: DeliveryRecord,
    deliveryCallbacks: DeliveryCallbacks,
  ): void {
    if (!this.dedupe.isSame(before, inboundMessage))
      deliveryCallbacks.rejected(channelsErrors.id_reused());
    else if (before.isStopped || before.isAccepted)
      settleAgain(this.dedupeContext, inboundMessage, before, deliveryCallbacks);
    else (before.waiting ??= []).push(deliveryCallbacks);
  }

  private enqueue(
    inboundMessage: InboundMessage,
    deliveryCallbacks: ReportingCallbacks,
    isRepeated = false,
  ): void {
    const times = this.options.received(inboundMessage);
    const { channel, session } = inboundMessage;
    const run = new Run(this.runOptions, inboundMessage, deliveryCallbacks, { times, isRepeated });
    this.queues.add(channel, session, run);
  }

  private activeApplication(): ActiveApplication | undefined {
    const { current, stopping } = this;
    if (!current || !stopping) return undefined;
    const { application, isOrdered, stopGraceMs, withdraw } = current;
    return { application, isOrdered, stopGraceMs, withdraw, signal: stopping.signal };
  }

  private failedAfterAcceptance(inboundMessage: InboundMessage, error: unknown): void {
    const { channel, session, id, sender } = inboundMessage;
    const user = sender && { user: sender.id };
    const code = codeOf(error);
    // The sentence says everything: the application sent more than the channel can.
    const cause = code === "too_large" ? { why: (error as Error).message } : { err: error };
    const fields = { channel, session, id, ...user, code, ...cause };
    this.options.log.error(fields, "the application failed after it had accepted a message");
    this.options.failed(inboundMessage, error);
  }
}
