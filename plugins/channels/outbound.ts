import { codeOf } from "../../kernel/index.ts";
import type { Awaitable } from "../../kernel/index.ts";
import { channelsErrors } from "./errors.ts";
import type { Receipts } from "./receipts.ts";
import type { Address, ChannelPort, Channels, Receipt } from "./service.ts";

export interface OutboundOptions {
  readonly port: (channel: string) => ChannelPort | undefined;
  readonly running: () => boolean;
  readonly receipts: Receipts;
  readonly random: (bytes: number) => Uint8Array;
}

/** From the application to the channel a session belongs to. */
export function createOutbound(options: OutboundOptions): Pick<Channels, "send" | "update" | "remove" | "typing"> {
  const { port, running, receipts, random } = options;

  function portFor({ channel }: Address): ChannelPort {
    if (!running()) throw channelsErrors.not_running();
    const found = port(channel);
    if (found === undefined) throw channelsErrors.undeliverable(channel);
    return found;
  }

  /** Errors without a code are the channel's own; the application learns that the message did not go out. */
  async function ask({ channel, session }: Address, id: string, send: () => Awaitable<Receipt>): Promise<Receipt> {
    const tracked = receipts.track(channel, session, id);
    try {
      return tracked.answered({ ...(await send()), id });
    } catch (error) {
      tracked.failed();
      throw codeOf(error) === "internal" ? channelsErrors.undeliverable(channel, { cause: error }) : error;
    }
  }

  return {
    async send(to, message) {
      const channel = portFor(to);
      const id = Buffer.from(random(16)).toString("hex");
      return ask(to, id, () => channel.send(to.session, id, message));
    },
    async update(to, id, message) {
      const channel = portFor(to);
      if (!channel.update) throw channelsErrors.unsupported(to.channel, "change");
      return ask(to, id, () => channel.update!(to.session, id, message));
    },
    async remove(to, id) {
      const channel = portFor(to);
      if (!channel.remove) throw channelsErrors.unsupported(to.channel, "remove");
      return ask(to, id, () => channel.remove!(to.session, id));
    },
    typing(to, on) {
      if (running()) port(to.channel)?.typing?.(to.session, on);
    },
  };
}
