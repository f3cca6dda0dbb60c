import { codeOf } from "../../kernel/index.ts";
import type { Awaitable } from "../../kernel/index.ts";
import { channelsErrors } from "./errors.ts";
import { maxHops } from "./inbound.ts";
import type { ReceiptTracker, TrackedMessage } from "./receipts.ts";
import type { Address, ChannelAdapter, Channels, AdapterReceipt, Receipt } from "./service.ts";

export interface OutboundOptions {
  readonly port: (channel: string) => ChannelAdapter | undefined;
  readonly running: () => boolean;
  readonly receipts: ReceiptTracker;
  readonly newId: () => string;
}

/** From the application to the channel a session belongs to. */
export function createOutbound(
  options: OutboundOptions,
): Pick<Channels, "send" | "update" | "remove" | "typing"> {
  const { port, running, receipts, newId } = options;

  function portFor({ channel }: Address): ChannelAdapter {
    if (!running()) throw channelsErrors.not_running();
    const found = port(channel);
    if (found === undefined) throw channelsErrors.undeliverable(channel);
    return found;
  }

  /** Errors without a code are the channel's own; the application learns that the message did not go out. */
  function failed(tracked: TrackedMessage, error: unknown): Promise<never> {
    receipts.failed(tracked);
    const isOwn = codeOf(error) === "internal";
    return Promise.reject(
      isOwn ? channelsErrors.undeliverable(tracked.channel, { cause: error }) : (error as Error),
    );
  }

  /** Rejects and never throws. A channel that answers at once costs one promise. */
  function ask(
    to: Address,
    id: string,
    call: (port: ChannelAdapter) => Awaitable<AdapterReceipt>,
  ): Promise<Receipt> {
    let tracked: TrackedMessage | undefined;
    try {
      const channel = portFor(to);
      const own = (tracked = receipts.track(to.channel, to.session, id));
      const answer = call(channel);
      if (!("then" in answer)) return Promise.resolve(receipts.answered(own, answer));
      receipts.waits(own);
      return answer
        .then((receipt) => receipts.answered(own, receipt))
        .catch((error: unknown) => failed(own, error));
    } catch (error) {
      return tracked ? failed(tracked, error) : Promise.reject(error as Error);
    }
  }

  return {
    send(to, message) {
      const id = newId();
      return ask(to, id, (channel) => {
        if ((message.hops ?? 0) > maxHops) throw channelsErrors.loop();
        return channel.send(to.session, id, message);
      });
    },
    update: (to, id, message) =>
      ask(to, id, (channel) => {
        if (!channel.update) throw channelsErrors.unsupported(to.channel, "change");
        return channel.update(to.session, id, message);
      }),
    remove: (to, id) =>
      ask(to, id, (channel) => {
        if (!channel.remove) throw channelsErrors.unsupported(to.channel, "remove");
        return channel.remove(to.session, id);
      }),
    typing(to, on) {
      if (running()) port(to.channel)?.typing?.(to.session, on);
    },
  };
}
