/** Loads the ids of accepted messages before a session delivers its first message. */
import type { TakenIds } from "../conversations/index.ts";
import type { Dedupe } from "./dedupe.ts";
import type { InboundMessage } from "./service.ts";

/** A delivery of a session whose ids are being loaded. */
interface WaitingDelivery {
  run(): void;
  reject(error: unknown): void;
}

const keyOf = ({ channel, session }: InboundMessage): string => `${channel}\0${session}`;

/** Deliveries of a session keep their order while its ids are loaded. */
export class KnownIds {
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
  mustWait(message: InboundMessage, isDeduplicated: boolean): boolean {
    if (this.loading.size > 0 && this.loading.has(keyOf(message))) return true;
    if (!isDeduplicated || this.dedupe.hasSession(message)) return false;
    const { channel, session } = message;
    const ids = this.taken.known({ channel, session });
    if (!(ids instanceof Promise)) {
      this.dedupe.restore(message, ids);
      return false;
    }
    const waiting: WaitingDelivery[] = [];
    this.loading.set(keyOf(message), waiting);
    void ids.then(
      (loaded) => {
        this.dedupe.restore(message, loaded);
        this.finish(message, waiting, ({ run }) => run());
      },
      (error: unknown) => this.finish(message, waiting, ({ reject }) => reject(error)),
    );
    return true;
  }

  /** Call after `mustWait` has returned true. */
  wait(message: InboundMessage, delivery: WaitingDelivery): void {
    this.loading.get(keyOf(message))!.push(delivery);
  }

  private finish(
    message: InboundMessage,
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
