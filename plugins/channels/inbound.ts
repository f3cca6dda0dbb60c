/** Delivers inbound messages to the application and reports the outcome to their channel. */
import { codeOf, type Clock, type Log, type Release } from "../../kernel/index.ts";
import { Dedupe, type DeliveryRecord, type MessageKey } from "./dedupe.ts";
import { DedupedDelivery, settleAgain, type DedupeContext } from "./deduped-delivery.ts";
import { channelsErrors } from "./errors.ts";
import type { ActiveApplication, RunOptions } from "./run-options.ts";
import { Run, toRunning } from "./runs.ts";
import type { TakenIds } from "../conversations/index.ts";
import type {
  Address,
  Application,
  ApplicationOptions,
  DeliveryCallbacks,
  InboundMessage,
  Sender,
  StopResult,
} from "./service.ts";
import {
  createPendingDeliveries,
  createSessionQueues,
  type PendingDeliveries,
  type ReportingCallbacks,
  type SessionQueues,
} from "./session-queues.ts";

/** A delivery of a session whose ids are being loaded. */
interface WaitingDelivery {
  run(): void;
  /** Delivers again: the id of another message was looked up. */
  again(): void;
  reject(error: unknown): void;
}

const keyOf = ({ channel, session }: Address): string => `${channel}\0${session}`;

/** Deliveries of a session keep their order while its ids are loaded. */
class KnownIds {
  private readonly taken: TakenIds;
  private readonly dedupe: Dedupe;
  private readonly failed: (error: unknown) => void;
  private readonly loading = new Map<string, WaitingDelivery[]>();

  /** @param failed - Receives errors thrown by the callbacks of a channel. */
  constructor(taken: TakenIds, dedupe: Dedupe, failed: (error: unknown) => void) {
    this.taken = taken;
    this.dedupe = dedupe;
    this.failed = failed;
  }

  /** True if the ids of the session are being loaded. Begins to load them if that is necessary. */
  mustWait(message: MessageKey, isDeduplicated: boolean): boolean {
    if (this.loading.size > 0 && this.loading.has(keyOf(message))) return true;
    if (!isDeduplicated || this.dedupe.hasSession(message)) return false;
    if (this.dedupe.find(message)) return false;
    const { channel, session, id } = message;
    const known = this.taken.known({ channel, session }, id);
    if (!(known instanceof Promise)) {
      this.restore(message, known);
      return false;
    }
    const waiting: WaitingDelivery[] = [];
    this.loading.set(keyOf(message), waiting);
    void known.then(
      (loaded) => {
        const isComplete = this.restore(message, loaded);
        const [first] = waiting;
        this.finish(message, waiting, (delivery) =>
          isComplete || delivery === first ? delivery.run() : delivery.again(),
        );
      },
      (error: unknown) => this.finish(message, waiting, ({ reject }) => reject(error)),
    );
    return true;
  }

  /** Call after `mustWait` has returned true. */
  wait(message: Address, delivery: WaitingDelivery): void {
    this.loading.get(keyOf(message))!.push(delivery);
  }

  /**
   * Loads the ids of a session, or one of them, after the messages that wait for theirs.
   *
   * @returns A promise that never rejects; undefined if the ids are known.
   */
  load(message: MessageKey): Promise<void> | undefined {
    if (!this.mustWait(message, true)) return undefined;
    return new Promise((run) => {
      const again = (): void => void Promise.resolve(this.load(message)).then(() => run());
      this.wait(message, { run, again, reject: () => run() });
    });
  }

  /** @returns True if all ids of the session are known now. */
  private restore(address: Address, known: Awaited<ReturnType<TakenIds["known"]>>): boolean {
    const isComplete = !("found" in known);
    const one = isComplete || !known.found ? [] : [known.found];
    this.dedupe.restore(address, isComplete ? known : one, isComplete);
    return isComplete;
  }

  private finish(
    message: Address,
    waiting: readonly WaitingDelivery[],
    use: (delivery: WaitingDelivery) => void,
  ): void {
    this.loading.delete(keyOf(message));
    for (const delivery of waiting) {
      try {
        use(delivery);
      } catch (error) {
        this.failed(error);
      }
    }
  }
}

/** Bridges a message may cross. */
export const maxHops = 4;

interface InboundOptions extends Omit<RunOptions, "deliveries" | "current"> {
  readonly clock: Clock;
  readonly log: Log;
  /** Keeps the ids of accepted and stopped messages, if a plugin does. */
  readonly taken: TakenIds | undefined;
  readonly received: (message: InboundMessage) => void;
  /** Runs for each message that is asked to stop. */
  readonly stopAsked: (message: InboundMessage, by: Sender | undefined) => void;
}

/** How long a stopped message may occupy its session, unless the application says otherwise. */
const defaultStopGraceS = 10;

const maxSuggestions = 4;
const maxSuggestionLength = 80;

function assertSuggestions(suggestions: readonly string[]): void {
  const isValid = (text: unknown): boolean =>
    typeof text === "string" && text.trim() !== "" && text.length <= maxSuggestionLength;
  if (!Array.isArray(suggestions) || suggestions.length > maxSuggestions)
    throw channelsErrors.suggestions_invalid(`a list of at most ${maxSuggestions} texts`);
  if (!suggestions.every(isValid))
    throw channelsErrors.suggestions_invalid(`texts of 1 to ${maxSuggestionLength} characters`);
}

/** Delivers messages to the application: each session in order, different sessions in parallel. */
export class Inbound {
  readonly isBusy: SessionQueues<Run>["has"];
  readonly busySessions: SessionQueues<Run>["busySessions"];
  readonly running: (channel: string, session: string) => ReturnType<typeof toRunning>;
  private readonly dedupeContext: DedupeContext;
  private readonly options: InboundOptions;
  private readonly runOptions: RunOptions;
  private current:
    | (Pick<ActiveApplication, "application" | "stopGraceMs"> & {
        readonly width: number;
        readonly suggestions: readonly string[] | undefined;
      })
    | undefined;
  private stopping: AbortController | undefined;
  private hasWarned = false;
  private readonly pendingDeliveries: PendingDeliveries;
  private readonly dedupe: Dedupe;
  private readonly knownIds: KnownIds | undefined;
  private readonly queues: SessionQueues<Run>;

  constructor(options: InboundOptions) {
    this.options = options;
    this.pendingDeliveries = createPendingDeliveries(this.outcomeFailed);
    this.dedupe = new Dedupe(options.clock);
    const { taken } = options;
    this.dedupeContext = { dedupe: this.dedupe, taken, failed: this.outcomeFailed };
    this.knownIds = taken && new KnownIds(taken, this.dedupe, this.outcomeFailed);
    this.queues = createSessionQueues(() => this.current?.width ?? 1);
    this.isBusy = this.queues.has;
    this.busySessions = this.queues.busySessions;
    this.running = (channel, session) => toRunning(this.queues.started(channel, session));
    this.runOptions = {
      ...options,
      deliveries: this.pendingDeliveries,
      current: () => this.activeApplication(),
      failed: (message, error) => this.failedAfterAcceptance(message, error),
    };
  }

  handle(
    application: Application,
    { perSession = 1, stopGraceS = defaultStopGraceS, suggestions }: ApplicationOptions = {},
  ): Release {
    if (typeof application !== "function")
      throw channelsErrors.application_invalid(application === null ? "null" : typeof application);
    if (this.current) throw channelsErrors.application_taken();
    if (suggestions) assertSuggestions(suggestions);
    const width = Math.max(1, perSession);
    const registration = { application, width, stopGraceMs: stopGraceS * 1_000, suggestions };
    this.current = registration;
    return () => {
      if (this.current === registration) this.current = undefined;
    };
  }

  suggestions(): readonly string[] | undefined {
    return this.current?.suggestions;
  }

  deliver(
    inboundMessage: InboundMessage,
    deliveryCallbacks: DeliveryCallbacks,
    { dedupe: isDeduplicated = false }: { dedupe?: boolean } = {},
  ): void {
    if (this.knownIds?.mustWait(inboundMessage, isDeduplicated))
      this.knownIds.wait(inboundMessage, {
        run: () => this.deliverNow(inboundMessage, deliveryCallbacks, isDeduplicated),
        again: () => this.deliver(inboundMessage, deliveryCallbacks, { dedupe: isDeduplicated }),
        reject: (error) => deliveryCallbacks.rejected(error),
      });
    else this.deliverNow(inboundMessage, deliveryCallbacks, isDeduplicated);
  }

  private deliverNow(
    inboundMessage: InboundMessage,
    deliveryCallbacks: DeliveryCallbacks,
    isDeduplicated: boolean,
  ): void {
    const { dedupe } = this;
    if (!this.stopping) return deliveryCallbacks.rejected(channelsErrors.not_running());
    if (inboundMessage.hops > maxHops) return deliveryCallbacks.rejected(channelsErrors.loop());
    const before = isDeduplicated ? dedupe.find(inboundMessage) : undefined;
    if (before) return this.deliverAgain(inboundMessage, before, deliveryCallbacks);
    if (!this.current) {
      this.warnOfMissingApplication({ channel: inboundMessage.channel });
      return deliveryCallbacks.rejected(channelsErrors.no_application());
    }
    if (!isDeduplicated) return this.enqueue(inboundMessage, deliveryCallbacks);
    const record = dedupe.remember(inboundMessage);
    this.enqueue(
      inboundMessage,
      new DedupedDelivery(this.dedupeContext, inboundMessage, record, deliveryCallbacks),
    );
  }

  start(): void {
    this.stopping = new AbortController();
  }

  /** Rejects all pending deliveries, then aborts the signal of the application. */
  stop(): void {
    const controller = this.stopping;
    this.stopping = undefined;
    this.queues.clear();
    this.pendingDeliveries.rejectAll(channelsErrors.not_running);
    controller?.abort(channelsErrors.not_running());
  }

  /**
   * Stops one message of a session, or all that run or wait. The application is asked once, and a
   * message that it has not received is rejected.
   */
  stopMessages(to: Address, id?: string, by?: Sender): readonly StopResult[] {
    const { channel, session } = to;
    const matches = (run: Run): boolean => !run.isOver && (id ?? run.message.id) === run.message.id;
    const removed = this.queues.remove(channel, session, matches);
    const started = this.queues.started(channel, session).filter(matches);
    const results: StopResult[] = [];
    for (const run of removed) {
      this.options.stopAsked(run.message, by);
      run.remove();
      results.push({ id: run.message.id, status: "removed" });
    }
    for (const run of started) {
      this.options.stopAsked(run.message, by);
      run.stop();
      results.push({ id: run.message.id, status: "stopping" });
    }
    if (id === undefined || results.length > 0) return results;
    return [{ id, status: this.dedupe.find({ channel, session, id }) ? "over" : "unknown" }];
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
    for (const run of this.queues.remove(channel, session, () => true)) run.remove(reason);
    for (const run of this.queues.started(channel, session)) run.stop(reason);
    this.dedupe.forgetSession({ channel, session });
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

  private enqueue(inboundMessage: InboundMessage, deliveryCallbacks: ReportingCallbacks): void {
    const pendingDelivery = this.pendingDeliveries.open(deliveryCallbacks);
    this.options.received(inboundMessage);
    const { channel, session } = inboundMessage;
    this.queues.add(channel, session, new Run(this.runOptions, inboundMessage, pendingDelivery));
  }

  private activeApplication(): ActiveApplication | undefined {
    const { current, stopping } = this;
    if (!current || !stopping) return undefined;
    const { application, stopGraceMs } = current;
    return { application, stopGraceMs, signal: stopping.signal };
  }

  private failedAfterAcceptance(inboundMessage: InboundMessage, error: unknown): void {
    const { channel, session, id, sender } = inboundMessage;
    const user = sender && { user: sender.id };
    const fields = { channel, session, id, ...user, code: codeOf(error), err: error };
    this.options.log.error(fields, "the application failed after it had accepted a message");
    this.options.failed(inboundMessage, error);
  }
}
