/** Holds back deliveries of a session while its ids are loaded or its conversation is deleted. */
import type { Release } from "../../kernel/index.ts";
import type { TakenIds } from "../conversations/index.ts";
import type { Dedupe } from "./dedupe.ts";
import type { Address } from "./contract.ts";
import type { HeldDeliveries, HeldDelivery, MessageKey, Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";

/**
 * Deliveries of a session keep their order. One loop per session runs them, also those that arrive
 * while another one runs: its sender may send the next message as soon as it has an outcome.
 */
export class KnownIds {
  private readonly taken: TakenIds;
  private readonly dedupe: Dedupe;
  private readonly failed: (error: unknown) => void;
  private readonly sessions: Sessions;

  /** @param failed - Receives errors thrown by the callbacks of a channel. */
  constructor(
    taken: TakenIds,
    dedupe: Dedupe,
    sessions: Sessions,
    failed: (error: unknown) => void,
  ) {
    this.taken = taken;
    this.dedupe = dedupe;
    this.sessions = sessions;
    this.failed = failed;
  }

  /** Runs a delivery, or lets it wait behind earlier ones and until its id was looked up. */
  deliver(delivery: HeldDelivery): void {
    if (!this.mustWait(delivery)) return delivery.run();
    const session = this.sessions.open(delivery.message);
    const waiting = this.open(session);
    waiting.deliveries.push(delivery);
    if (!waiting.isWorking) void this.work(session, waiting);
  }

  /** Rejects the waiting messages of a session, and holds back later ones until the release. */
  hold(address: Address): Release {
    const session = this.sessions.open(address);
    const waiting = this.open(session);
    const { deliveries } = waiting;
    const wasHeld = waiting.isHeld;
    waiting.isHeld = true;
    const all = deliveries.splice(0);
    deliveries.push(...all.filter(({ isMessage }) => !isMessage));
    for (const delivery of all) if (delivery.isMessage) this.use(() => delivery.discard());
    if (wasHeld) return () => undefined;
    return () => {
      if (!waiting.isHeld) return;
      waiting.isHeld = false;
      if (!waiting.isWorking) void this.work(session, waiting);
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
    return new Promise((run) =>
      this.deliver({ ...delivery, run, discard: run, reject: () => run() }),
    );
  }

  private mustWait(delivery: Pick<HeldDelivery, "message" | "isDeduplicated">): boolean {
    return this.sessions.find(delivery.message)?.held !== undefined || this.mustLookUp(delivery);
  }

  private mustLookUp({
    message,
    isDeduplicated,
  }: Pick<HeldDelivery, "message" | "isDeduplicated">): boolean {
    return isDeduplicated && !this.dedupe.hasSession(message) && !this.dedupe.find(message);
  }

  private open(session: Session): HeldDeliveries {
    return (session.held ??= { deliveries: [], isHeld: false, isWorking: false });
  }

  private async work(session: Session, waiting: HeldDeliveries): Promise<void> {
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
    if (!waiting.isHeld) session.held = undefined;
  }

  /** If that fails, all deliveries that wait are rejected: their ids are where this one is. */
  private async lookUp(first: HeldDelivery, deliveries: HeldDelivery[]): Promise<void> {
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
