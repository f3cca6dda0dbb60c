/** Holds back deliveries of a session while its ids are loaded or its conversation is deleted. */
import type { Release } from "../../kernel/index.ts";
import type { TakenIds } from "../conversations/index.ts";
import type { Dedupe, MessageKey } from "./dedupe.ts";
import type { Address } from "./contract.ts";

/** A delivery that is held back. */
export interface WaitingDelivery {
  /** Undefined for a caller that only waits for the ids. */
  readonly message?: MessageKey;
  /** A client has stopped the message. */
  isStopped?: boolean;
  run(): void;
  /** Delivers again: the id of another message was looked up. */
  again(): void;
  reject(error: unknown): void;
}

const keyOf = ({ channel, session }: Address): string => `${channel}\0${session}`;

/** Deliveries of a session keep their order while they wait. */
export class KnownIds {
  private readonly taken: TakenIds;
  private readonly dedupe: Dedupe;
  private readonly failed: (error: unknown) => void;
  /** Deliveries of sessions whose ids are being loaded. */
  private readonly loading = new Map<string, WaitingDelivery[]>();
  /** Deliveries of sessions whose conversations are being deleted. */
  private readonly held = new Map<string, WaitingDelivery[]>();

  /** @param failed - Receives errors thrown by the callbacks of a channel. */
  constructor(taken: TakenIds, dedupe: Dedupe, failed: (error: unknown) => void) {
    this.taken = taken;
    this.dedupe = dedupe;
    this.failed = failed;
  }

  /** True if the delivery must wait. Begins to load the ids of the session if that is necessary. */
  mustWait(message: MessageKey, isDeduplicated: boolean): boolean {
    if (this.loading.size + this.held.size > 0 && this.waitingOf(message)) return true;
    if (!isDeduplicated || this.dedupe.hasSession(message)) return false;
    if (this.dedupe.find(message)) return false;
    const { channel, session, id } = message;
    const known = this.taken.known({ channel, session }, id);
    const waiting: WaitingDelivery[] = [];
    this.loading.set(keyOf(message), waiting);
    known.then(
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
    this.waitingOf(message)!.push(delivery);
  }

  /** @returns The messages of a session that wait, or those with this id. */
  waiting(address: Address, id?: string): readonly WaitingDelivery[] {
    const key = keyOf(address);
    const all = [...(this.loading.get(key) ?? []), ...(this.held.get(key) ?? [])];
    return all.filter(({ message }) => message && (id === undefined || message.id === id));
  }

  /** Rejects the waiting messages of a session, and holds back later ones until the release. */
  hold(address: Address, error: () => Error): Release {
    const key = keyOf(address);
    for (const waiting of [this.loading.get(key), this.held.get(key)])
      for (const delivery of waiting?.splice(0) ?? []) {
        if (delivery.message) delivery.reject(error());
        else waiting!.push(delivery);
      }
    if (this.held.has(key)) return () => undefined;
    const held: WaitingDelivery[] = [];
    this.held.set(key, held);
    return () => {
      if (this.held.get(key) !== held) return;
      this.held.delete(key);
      this.use(held, (delivery) => delivery.again());
    };
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
    this.use(waiting, use);
  }

  private waitingOf(address: Address): WaitingDelivery[] | undefined {
    const key = keyOf(address);
    return this.held.get(key) ?? this.loading.get(key);
  }

  private use(waiting: readonly WaitingDelivery[], use: (delivery: WaitingDelivery) => void): void {
    for (const delivery of waiting) {
      try {
        use(delivery);
      } catch (error) {
        this.failed(error);
      }
    }
  }
}
