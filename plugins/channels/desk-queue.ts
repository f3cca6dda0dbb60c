/** Hands each message to the node that has its session, where several nodes share a store. */
import { codeOf, type Awaitable, type Log, type Release } from "../../kernel/index.ts";
import type { Desk } from "../conversations/index.ts";
import { channelsErrors } from "./errors.ts";
import type { Inbound } from "./inbound.ts";
import type {
  Address,
  DeliveryCallbacks,
  InboundMessage,
  RunningMessage,
  Sender,
  StopResult,
} from "./service.ts";

interface DeskQueueOptions {
  readonly desk: Desk;
  readonly inbound: Inbound;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
}

interface WaitingMessage {
  readonly message: InboundMessage;
  readonly callbacks: DeliveryCallbacks;
  readonly options: { readonly dedupe?: boolean };
  /** True if a client has stopped it and its node has not answered. */
  isStopped?: boolean;
}

/** Messages that wait until it is known which node has their session. */
interface ClaimQueue {
  readonly items: WaitingMessage[];
  readonly done: Promise<void>;
}

/** Milliseconds before a message is handed over again. */
const retryMs = 250;
/** The message must be handed to another node, and reached no application or a former owner. */
const isMoved = (error: unknown): boolean => ["not_owner", "node_gone"].includes(codeOf(error));

const keyOf = ({ channel, session }: Address): string => `${channel}\0${session}`;

/**
 * Messages of a session keep their order. A message that its node could not accept is handed over
 * again, with the same id.
 */
export class DeskQueue {
  private readonly options: DeskQueueOptions;
  private readonly waiting = new Map<string, ClaimQueue>();
  /** Session -> messages whose outcome another node will report. */
  private readonly passed = new Map<string, Set<WaitingMessage>>();

  constructor(options: DeskQueueOptions) {
    const { desk, inbound } = options;
    this.options = options;
    desk.listen({
      passed: (message, outcome, deliverOptions) =>
        inbound.deliver(message, outcome, deliverOptions),
      stopped: (address, id, by) => this.stopHere(address, id, by),
      lost: (address) => this.lost(address),
      isBusy: (address) => inbound.isBusy(address.channel, address.session),
      taken: (address) => inbound.forgetIds(address),
    });
  }

  deliver(
    message: InboundMessage,
    callbacks: DeliveryCallbacks,
    options: { readonly dedupe?: boolean } = {},
  ): void {
    const item = { message, callbacks, options };
    const key = keyOf(message);
    const waiting = this.waiting.get(key);
    if (waiting) return void waiting.items.push(item);
    const claimed = this.options.desk.claim(message);
    if (claimed === "own") return this.deliverHere(item);
    const items = [item];
    const done = this.run(key, items, claimed);
    this.waiting.set(key, { items, done });
  }

  /** True if a message of the session (default: of any session of the channel) runs or waits. */
  isBusy(channel: string, session?: string): boolean {
    if (this.options.inbound.isBusy(channel, session)) return true;
    for (const keys of [this.waiting.keys(), this.passed.keys()])
      for (const key of keys)
        if (
          session === undefined
            ? key.startsWith(`${channel}\0`)
            : key === keyOf({ channel, session })
        )
          return true;
    return false;
  }

  /** @returns Undefined if the application here works on none: another node may. */
  running(channel: string, session: string): readonly RunningMessage[] | undefined {
    const running = this.options.inbound.running(channel, session);
    return running.length > 0 ? running : undefined;
  }

  /** Stops messages here and, if another node has the session, there. */
  stopMessages(to: Address, id?: string, by?: Sender): Awaitable<readonly StopResult[]> {
    const results = this.options.inbound.stopMessages(to, id, by);
    if (results.some(({ status }) => status !== "unknown")) return results;
    return this.stopAnywhere(to, id, by);
  }

  /** Asks the node that has the session, once it is known which node that is. */
  private async stopAnywhere(
    to: Address,
    id: string | undefined,
    by: Sender | undefined,
  ): Promise<readonly StopResult[]> {
    const { desk, log } = this.options;
    await this.waiting.get(keyOf(to))?.done;
    let results: readonly StopResult[] | undefined;
    try {
      results = await desk.stop(to, id, by);
    } catch (err) {
      const stopped = this.stopPassed(to, id);
      if (stopped.length > 0) return stopped;
      log.warn({ ...to, err }, "the node that has a session could not be asked to stop a message");
    }
    const isKnown = results?.some(({ status }) => status !== "unknown");
    return isKnown ? results! : this.stopHere(to, id, by);
  }

  /** Loads the ids of the session first: a message may wait for them, or be over. */
  private stopHere(
    to: Address,
    id: string | undefined,
    by: Sender | undefined,
  ): Awaitable<readonly StopResult[]> {
    const { inbound } = this.options;
    const loading = inbound.loadIds(to, id);
    if (!loading) return inbound.stopMessages(to, id, by);
    return loading.then(() => inbound.stopMessages(to, id, by));
  }

  /** The node of these messages does not answer: they are rejected instead of handed over again. */
  private stopPassed(to: Address, id: string | undefined): readonly StopResult[] {
    const passed = [...(this.passed.get(keyOf(to)) ?? [])];
    const matching = passed.filter(({ message }) => id === undefined || message.id === id);
    for (const item of matching) item.isStopped = true;
    return matching.map(({ message }) => ({ id: message.id, status: "stopping" }));
  }

  /** Hands over one message after the other. */
  private async run(
    key: string,
    queue: WaitingMessage[],
    first: ReturnType<Desk["claim"]>,
  ): Promise<void> {
    const { desk, log } = this.options;
    let claim = first;
    for (let item = queue[0]; item; item = queue[0]) {
      try {
        const owner = await claim;
        if (typeof owner === "object") this.pass(owner.node, item);
        else this.deliverHere(item);
      } catch (error) {
        this.settle(() => item!.callbacks.rejected(error), log);
      }
      queue.shift();
      if (queue[0]) claim = desk.claim(queue[0].message);
    }
    this.waiting.delete(key);
  }

  private deliverHere(item: WaitingMessage): void {
    const { message, callbacks, options } = item;
    const outcome: DeliveryCallbacks = {
      accepted: (status) => callbacks.accepted(status),
      rejected: (error) => (isMoved(error) ? this.again(item) : callbacks.rejected(error)),
    };
    this.options.inbound.deliver(message, outcome, options);
  }

  private pass(node: string, item: WaitingMessage): void {
    const { message, callbacks, options } = item;
    const key = keyOf(message);
    const passed = this.passed.get(key) ?? new Set();
    this.passed.set(key, passed.add(item));
    const settled = (report: () => void): void => {
      passed.delete(item);
      if (passed.size === 0 && this.passed.get(key) === passed) this.passed.delete(key);
      this.settle(report, this.options.log);
    };
    const outcome: DeliveryCallbacks = {
      accepted: (status) => settled(() => callbacks.accepted(status)),
      rejected: (error) =>
        settled(() => (isMoved(error) ? this.again(item) : callbacks.rejected(error))),
    };
    this.options.desk.pass(node, message, outcome, options);
  }

  private again({ message, callbacks, options, isStopped = false }: WaitingMessage): void {
    if (isStopped) return callbacks.rejected(channelsErrors.stopped());
    this.options.after(retryMs, () => this.deliver(message, callbacks, options));
  }

  /** Another node has the session: its answers end here, and nothing of them is stored. */
  private lost(address: Address): void {
    const { inbound, desk, log, after } = this.options;
    log.warn(
      { ...address },
      "another node has taken over a session while this one did not respond",
    );
    inbound.abandon(address);
    const forget = (): void => {
      if (inbound.isBusy(address.channel, address.session)) after(retryMs, forget);
      else desk.forget(address);
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
