/** Hands each message to the node that has its session, where several nodes share a store. */
import { codeOf, type Log, type Release } from "../../kernel/index.ts";
import type { SessionOwnership, PassOptions } from "../conversations/index.ts";
import { channelsErrors } from "./errors.ts";
import type { Inbound } from "./inbound.ts";
import type {
  Address,
  AnswerResult,
  Channels,
  DeliveryCallbacks,
  InboundMessage,
  OpenQuestion,
  RunningMessage,
  Stopper,
  StopResult,
} from "./contract.ts";
import type { PassedMessage, SessionPasses } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import { mayStop } from "./stop-rights.ts";

interface OwnershipQueueOptions {
  readonly ownership: SessionOwnership;
  readonly inbound: Inbound;
  readonly questions: OwnedQuestions;
  readonly sessions: Sessions;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
}

/** The questions of the sessions that this node has. */
interface OwnedQuestions {
  /** True while a question of the session is open here. */
  isOpen(address: Address): boolean;
  answer: Channels["answer"];
  /** Lists the open questions of a session that this node has. */
  openIn(address: Address): Promise<readonly OpenQuestion[]>;
  /** The session is this node's from now on. */
  taken(address: Address): void;
}

interface StopOptions {
  readonly id: string | undefined;
  readonly by: Stopper | undefined;
  /** The messages that waited here. */
  readonly removed: readonly StopResult[];
}

/** Milliseconds before a message is handed over again. */
const retryMs = 250;
/** How often the node of a session is asked to answer while the session moves. */
const maxAnswerAttempts = 3;
/** The message must be handed to another node, and reached no application or a former owner. */
const isMoved = (error: unknown): boolean => ["not_owner", "node_gone"].includes(codeOf(error));

/** The node of a stopped message must know it when it is repeated. */
const passOptionsOf = ({ options, isStopped }: PassedMessage): PassOptions =>
  isStopped ? { ...options, stopped: true } : options;

const isKnown = ({ status }: StopResult): boolean => status !== "unknown";

/**
 * Messages of a session keep their order. A message that its node could not accept is handed over
 * again, with the same id.
 */
export class OwnershipQueue {
  private readonly options: OwnershipQueueOptions;

  constructor(options: OwnershipQueueOptions) {
    const { ownership, inbound, questions } = options;
    this.options = options;
    ownership.listen({
      passed: (message, outcome, deliverOptions) =>
        inbound.deliver(message, outcome, deliverOptions),
      stopped: (address, id, by) => this.stopOwned(address, id, by),
      running: ({ channel, session }) => inbound.runningHere(channel, session),
      lost: (address) => this.lost(address),
      answered: (...given) => questions.answer(...given),
      questions: (address) => questions.openIn(address),
      isBusy: (address) =>
        inbound.isBusy(address.channel, address.session) || questions.isOpen(address),
      taken: (address) => {
        inbound.forgetIds(address);
        questions.taken(address);
      },
    });
  }

  deliver(
    message: InboundMessage,
    callbacks: DeliveryCallbacks,
    options: { readonly dedupe?: boolean } = {},
  ): void {
    const item = { message, callbacks, options };
    const passes = this.open(message);
    if (passes.claiming) return void passes.claiming.items.push(item);
    const items = [item];
    passes.claiming = { items, done: this.run(passes, items) };
  }

  /** True if a message of the session (default: of any session of the channel) runs or waits. */
  isBusy(channel: string, session?: string): boolean {
    if (this.options.inbound.isBusy(channel, session)) return true;
    const { sessions } = this.options;
    const meant =
      session === undefined ? sessions.list(channel) : [sessions.find({ channel, session })];
    return meant.some((each) => each?.isPassing());
  }

  /** @returns Undefined if another node has the session and does not answer. */
  async running(channel: string, session: string): Promise<readonly RunningMessage[] | undefined> {
    const { inbound, ownership } = this.options;
    const running = inbound.runningHere(channel, session);
    return running.length > 0 ? running : ownership.running({ channel, session });
  }

  /** @returns Undefined if another node has the session and does not answer. */
  async questions(address: Address): Promise<readonly OpenQuestion[] | undefined> {
    const { questions, ownership } = this.options;
    const own = await questions.openIn(address);
    return own.length > 0 ? own : ownership.questions(address);
  }

  /**
   * Stops messages here and, if another node has the session, there. Messages that wait here are
   * removed before any other ends.
   */
  async stopMessages(to: Address, id?: string, by?: Stopper): Promise<readonly StopResult[]> {
    const waiting = this.waitingFor(to, id).filter(({ message }) => mayStop(by, message.sender));
    const removed = waiting.map((item): StopResult => {
      item.isStopped = true;
      return { id: item.message.id, status: "removed" };
    });
    const stopped = this.options.inbound.stopHere(to, id, by).filter(isKnown);
    const results = [...removed, ...stopped];
    const isComplete = id === undefined ? stopped.length > 0 : results.length > 0;
    return isComplete ? results : this.stopAnywhere(to, { id, by, removed });
  }

  /** Answers a question at the node that has its session. */
  async answer(...given: Parameters<Channels["answer"]>): Promise<AnswerResult> {
    const { ownership, questions } = this.options;
    for (let attempt = 1; ; attempt += 1) {
      const owner = await ownership.claim(given[0]);
      try {
        if (owner === "own") return await questions.answer(...given);
        return await ownership.answer(owner.node, ...given);
      } catch (error) {
        if (!isMoved(error) || attempt === maxAnswerAttempts) throw error;
      }
    }
  }

  /** Ends the messages of a session whose conversation is deleted. */
  forget(address: Address): Release {
    for (const item of this.waitingFor(address)) {
      item.isDropped = true;
      this.settle(() => item.callbacks.rejected(channelsErrors.stopped()), this.options.log);
    }
    // Their node rejects them. If it is gone, they are not handed over again.
    for (const item of this.passesOf(address)?.passed ?? []) item.isStopped = true;
    return this.options.inbound.forget(address);
  }

  /** Messages that have been handed to no node, and are not stopped. */
  private waitingFor(to: Address, id?: string): readonly PassedMessage[] {
    const { claiming, returned = [] } = this.passesOf(to) ?? {};
    const all = [...(claiming?.items ?? []), ...returned];
    return all.filter(
      (item) => !item.isStopped && !item.isDropped && (id ?? item.message.id) === item.message.id,
    );
  }

  /** Asks the node that has the session, once it is known which node that is. */
  private async stopAnywhere(
    to: Address,
    { id, by, removed }: StopOptions,
  ): Promise<readonly StopResult[]> {
    const { ownership, log } = this.options;
    await this.passesOf(to)?.claiming?.done;
    let results: readonly StopResult[] | undefined;
    try {
      results = await ownership.stop(to, id, by);
    } catch (err) {
      const stopped = this.stopPassed(to, id, by);
      if (stopped.length > 0) return [...removed, ...stopped];
      log.warn({ ...to, err }, "the node that has a session could not be asked to stop a message");
    }
    if (!results?.some(isKnown)) results = await this.stopOwned(to, id, by);
    const names = new Set(removed.map((result) => result.id));
    return [...removed, ...results.filter((result) => !names.has(result.id))];
  }

  /** Loads the ids of the session if the message is unknown: it may be over. */
  private async stopOwned(
    to: Address,
    id: string | undefined,
    by: Stopper | undefined,
  ): Promise<readonly StopResult[]> {
    const { inbound } = this.options;
    const stopped = inbound.stopHere(to, id, by);
    if (stopped.some(isKnown)) return stopped;
    await inbound.loadIds(to, id);
    return inbound.stopHere(to, id, by);
  }

  /** The node of these messages does not answer: they are rejected instead of handed over again. */
  private stopPassed(
    to: Address,
    id: string | undefined,
    by: Stopper | undefined,
  ): readonly StopResult[] {
    const passed = [...(this.passesOf(to)?.passed ?? [])];
    const matching = passed.filter(
      ({ message }) => (id ?? message.id) === message.id && mayStop(by, message.sender),
    );
    for (const item of matching) item.isStopped = true;
    return matching.map(({ message }) => ({ id: message.id, status: "stopping" }));
  }

  private passesOf(address: Address): SessionPasses | undefined {
    return this.options.sessions.find(address)?.passes;
  }

  private open(address: Address): SessionPasses {
    const session = this.options.sessions.open(address);
    return (session.passes ??= { claiming: undefined, passed: new Set(), returned: new Set() });
  }

  /** Hands over one message after the other. */
  private async run(passes: SessionPasses, queue: PassedMessage[]): Promise<void> {
    const { ownership, log } = this.options;
    while (queue[0]) {
      const item = queue[0];
      let handOver: () => void;
      try {
        const owner = await ownership.claim(item.message);
        handOver = () => this.handOver(owner, item);
      } catch (error) {
        handOver = () => item.callbacks.rejected(error);
      }
      queue.shift();
      if (!item.isDropped) this.settle(handOver, log);
    }
    passes.claiming = undefined;
  }

  private handOver(
    owner: Awaited<ReturnType<SessionOwnership["claim"]>>,
    item: PassedMessage,
  ): void {
    if (typeof owner !== "object") this.deliverHere(item);
    else this.pass(owner.node, item);
  }

  private deliverHere(item: PassedMessage): void {
    const { message, callbacks } = item;
    const outcome: DeliveryCallbacks = {
      accepted: (status) => callbacks.accepted(status),
      rejected: (error) => (isMoved(error) ? this.again(item) : callbacks.rejected(error)),
    };
    this.options.inbound.deliver(message, outcome, passOptionsOf(item));
  }

  private pass(node: string, item: PassedMessage): void {
    const { message, callbacks } = item;
    const { passed } = this.open(message);
    passed.add(item);
    const settled = (report: () => void): void => {
      passed.delete(item);
      this.settle(report, this.options.log);
    };
    const outcome: DeliveryCallbacks = {
      accepted: (status) => settled(() => callbacks.accepted(status)),
      rejected: (error) =>
        settled(() => (isMoved(error) ? this.again(item) : callbacks.rejected(error))),
    };
    this.options.ownership.pass(node, message, outcome, passOptionsOf(item));
  }

  private again(item: PassedMessage): void {
    const { message, callbacks, options } = item;
    if (item.isStopped) return callbacks.rejected(channelsErrors.stopped());
    const { returned } = this.open(message);
    returned.add(item);
    this.options.after(retryMs, () => {
      returned.delete(item);
      if (item.isDropped) return;
      if (item.isStopped) callbacks.rejected(channelsErrors.stopped());
      else this.deliver(message, callbacks, options);
    });
  }

  /** Another node has the session: its answers end here, and nothing of them is stored. */
  private lost(address: Address): void {
    const { inbound, ownership, log, after } = this.options;
    log.warn(
      { ...address },
      "another node has taken over a session while this one did not respond",
    );
    this.options.sessions.open(address).lost();
    const forget = (): void => {
      if (inbound.isBusy(address.channel, address.session)) after(retryMs, forget);
      else ownership.forget(address);
    };
    forget();
  }

  private settle(report: () => void, log: Log): void {
    try {
      report();
    } catch (err) {
      log.error({ err }, "a channel failed to process the outcome of a message");
    }
  }
}
