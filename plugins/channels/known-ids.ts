/** Holds back deliveries of a session while its ids are loaded or its conversation is deleted. */
import type { Release } from "../../kernel/index.ts";
import { keyOf } from "../../lib/util.ts";
import type { TakenIds } from "../conversations/index.ts";
import type { Dedupe, MessageKey } from "./dedupe.ts";
import type { Address } from "./contract.ts";

/** A delivery that is held back. */
export interface WaitingDelivery {
  readonly message: MessageKey;
  /** False for a caller that only waits for the ids. */
  readonly isMessage: boolean;
  /** Its id is looked up before it runs. */
  readonly isDeduplicated: boolean;
  /** A client has stopped the message. */
  isStopped?: boolean;
  run(): void;
  reject(error: unknown): void;
}

/** The deliveries of one session that wait, oldest first. It exists while there are some. */
interface Waiting {
  readonly deliveries: WaitingDelivery[];
  /** True while the conversation of the session is deleted. */
  isHeld: boolean;
  /** True while `work` runs. */
  isWorking: boolean;
}

/**
 * Deliveries of a session keep their order. One loop per session runs them, also those that arrive
 * while another one runs: its sender may send the next message as soon as it has an outcome.
 */
export class KnownIds {
  private readonly taken: TakenIds;
  private readonly dedupe: Dedupe;
  private readonly failed: (error: unknown) => void;
  private readonly sessions = new Map<string, Waiting>();

  /** @param failed - Receives errors thrown by the callbacks of a channel. */
  constructor(taken: TakenIds, dedupe: Dedupe, failed: (error: unknown) => void) {
    this.taken = taken;
    this.dedupe = dedupe;
    this.failed = failed;
  }

  /** Runs a delivery, or lets it wait behind earlier ones and until its id was looked up. */
  deliver(delivery: WaitingDelivery): void {
    if (!this.mustWait(delivery)) return delivery.run();
    const waiting = this.open(delivery.message);
    waiting.deliveries.push(delivery);
    if (!waiting.isWorking) void this.work(delivery.message, waiting);
  }

  /** @returns The messages of a session that wait, or those with this id. */
  waiting(address: Address, id?: string): readonly WaitingDelivery[] {
    const { deliveries = [] } = this.sessions.get(keyOf(address.channel, address.session)) ?? {};
    return deliveries.filter(
      ({ message, isMessage }) => isMessage && (id === undefined || message.id === id),
    );
  }

  /** Rejects the waiting messages of a session, and holds back later ones until the release. */
  hold(address: Address, error: () => Error): Release {
    const waiting = this.open(address);
    const { deliveries } = waiting;
    const wasHeld = waiting.isHeld;
    waiting.isHeld = true;
    const all = deliveries.splice(0);
    deliveries.push(...all.filter(({ isMessage }) => !isMessage));
    for (const delivery of all) if (delivery.isMessage) this.use(() => delivery.reject(error()));
    if (wasHeld) return () => undefined;
    return () => {
      if (!waiting.isHeld) return;
      waiting.isHeld = false;
      if (!waiting.isWorking) void this.work(address, waiting);
    };
  }

  /**
   * Loads the ids of a session, or one of them, after the messages that wait for theirs.
   *
   * @returns A promise that never rejects; undefined if the ids are known.
   */
  load(message: MessageKey): Promise<void> | undefined {
    const delivery = { message, isMessage: false, isDeduplicated: true };
    if (!this.mustWait(delivery)) return undefined;
    return new Promise((run) => this.deliver({ ...delivery, run, reject: () => run() }));
  }

  private mustWait(delivery: Pick<WaitingDelivery, "message" | "isDeduplicated">): boolean {
    if (
      this.sessions.size > 0 &&
      this.sessions.has(keyOf(delivery.message.channel, delivery.message.session))
    )
      return true;
    return this.mustLookUp(delivery);
  }

  private mustLookUp({
    message,
    isDeduplicated,
  }: Pick<WaitingDelivery, "message" | "isDeduplicated">): boolean {
    return isDeduplicated && !this.dedupe.hasSession(message) && !this.dedupe.find(message);
  }

  private open(address: Address): Waiting {
    const key = keyOf(address.channel, address.session);
    const waiting = this.sessions.get(key) ?? {
      ...{ deliveries: [], isHeld: false, isWorking: false },
    };
    this.sessions.set(key, waiting);
    return waiting;
  }

  private async work(address: Address, waiting: Waiting): Promise<void> {
    const { deliveries } = waiting;
    waiting.isWorking = true;
    while (!waiting.isHeld && deliveries[0]) {
      const [first] = deliveries;
      if (this.mustLookUp(first)) await this.lookUp(first, deliveries);
      // A deletion may have rejected it in the meantime.
      if (waiting.isHeld || deliveries[0] !== first) continue;
      deliveries.shift();
      this.use(() => first.run());
    }
    waiting.isWorking = false;
    if (!waiting.isHeld) this.sessions.delete(keyOf(address.channel, address.session));
  }

  /** If that fails, all deliveries that wait are rejected: their ids are where this one is. */
  private async lookUp(first: WaitingDelivery, deliveries: WaitingDelivery[]): Promise<void> {
    const { channel, session, id } = first.message;
    try {
      const known = await this.taken.known({ channel, session }, id);
      const isComplete = !("found" in known);
      const one = isComplete || !known.found ? [] : [known.found];
      this.dedupe.restore(first.message, isComplete ? known : one, isComplete);
    } catch (error) {
      for (const delivery of deliveries.splice(0)) this.use(() => delivery.reject(error));
    }
  }

  private use(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.failed(error);
    }
  }
}
