import type { Plugin } from "../../kernel/index.ts";
import type {
  ChannelAdapter,
  Channels,
  InboundMessage,
  ChannelHandle,
  OutboundMessage,
} from "../../plugins/channels/index.ts";

export interface Sent {
  readonly what: "send" | "update" | "remove" | "typing";
  readonly session: string;
  readonly id?: string;
  readonly message?: OutboundMessage;
  readonly on?: boolean;
}

export interface SampleChannel {
  readonly plugin: Plugin<{ needs: { channels: Channels } }>;
  readonly sent: Sent[];
  inlet(): ChannelHandle;
  message(changes?: Partial<InboundMessage>): InboundMessage;
}

/** Channel in memory that records all messages sent to it. */
export function createSampleChannel(port: Partial<ChannelAdapter> = {}): SampleChannel {
  const sent: Sent[] = [];
  let channelHandle: ChannelHandle | undefined;
  let count = 0;
  const name = port.name ?? "sample";
  return {
    sent,
    inlet: () => channelHandle!,
    message(changes = {}) {
      count += 1;
      return {
        channel: name,
        session: "s",
        id: `m${count}`,
        content: "hello",
        media: [],
        at: 0,
        hops: 0,
        ...changes,
      };
    },
    plugin: {
      name,
      api: 1,
      needs: { channels: true },
      start({ needs, onStop }) {
        channelHandle = needs.channels.attach({
          send: (session, id, message) => {
            sent.push({ what: "send", session, id, message });
            return { id, status: "written" };
          },
          ...port,
          name,
        });
        onStop(() => channelHandle!.close());
      },
    },
  };
}

/** A promise that is settled from outside. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => void (open = resolve));
  return { opened, open };
}
