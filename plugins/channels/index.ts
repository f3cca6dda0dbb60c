import type { Plugin } from "../../kernel/index.ts";
import { channelsErrors } from "./errors.ts";
import type {
  ChannelsEvents,
  ChannelAdapter,
  Channels,
  InboundMessage,
  ChannelHandle,
} from "./service.ts";
import { createInbound } from "./inbound.ts";
import { createIdGenerator, createOutbound, createReceiptTracker } from "./outbound.ts";
import { createReplyStreams } from "./reply-streams.ts";

export { application } from "./application.ts";
export type {
  ChannelsEvents,
  Address,
  ReplyStream,
  Application,
  ApplicationOptions,
  ChannelAdapter,
  Channels,
  ContextUsage,
  InboundMessage,
  ChannelHandle,
  Media,
  Message,
  DeliveryCallbacks,
  OutboundMessage,
  AdapterReceipt,
  Receipt,
  StreamOptions,
  ToolCall,
} from "./service.ts";

const bytesOf = ({ content, media }: InboundMessage): number =>
  Buffer.byteLength(content) +
  media.reduce((sum, { bytes, url }) => sum + (bytes?.byteLength ?? url?.length ?? 0), 0);

/** Between the channels and the one application. Taking a message is a question: its answer is the acknowledgement,
 *  its delay the backpressure. Messages are taken from ready on; answers still go out while the channels stop. */
export function channels(): Plugin<{ emits: ChannelsEvents; offers: { channels: Channels } }> {
  return {
    name: "channels",
    api: 1,

    start({ clock, log, random, emit, after, onReady, onStop }) {
      const ports = new Map<string, ChannelAdapter>();
      let sending = false;

      const receipts = createReceiptTracker((channel, session, { id, status, reason }) => {
        const why = reason === undefined ? {} : { reason };
        emit("channels:receipt-changed", () => ({ channel, session, id, status, ...why }));
      });
      const outbound = createOutbound({
        port: (name) => ports.get(name),
        running: () => sending,
        receipts,
        newId: createIdGenerator(random),
      });
      const streams = createReplyStreams({
        ...outbound,
        updates: ({ channel }) => ports.get(channel)?.update !== undefined,
        clock,
        after,
      });
      const inbound = createInbound({
        clock,
        log,
        send: outbound.send,
        stream: streams.open,
        failed({ channel, session, id }, error) {
          try {
            ports.get(channel)?.failed?.(session, id, error);
          } catch (thrown) {
            log.error(
              { err: thrown, channel, session, id },
              "the channel could not tell of a failure",
            );
          }
        },
        received: (message) =>
          emit("channels:message-received", () => {
            const { channel, session, id, at } = message;
            return { channel, session, id, bytes: bytesOf(message), at };
          }),
      });

      onStop(() => void (sending = false));
      onReady(() => {
        sending = true;
        inbound.start();
        return () => {
          inbound.stop();
          return streams.stop();
        };
      });

      const offered: Channels = {
        ...outbound,
        handle: inbound.handle,
        stream: streams.open,

        attach(port) {
          const { name } = port;
          if (ports.has(name)) throw channelsErrors.channel_taken(name);
          ports.set(name, port);
          const isAttached = (): boolean => ports.get(name) === port;
          const hand: ChannelHandle["hand"] = (message, outcome, options) => {
            if (!isAttached()) return outcome.rejected(channelsErrors.not_running());
            inbound.deliver(
              message.channel === name ? message : { ...message, channel: name },
              outcome,
              options,
            );
          };
          return {
            hand,
            deliver: (message, options) =>
              new Promise((accepted, rejected) => hand(message, { accepted, rejected }, options)),
            receipt(session, receipt) {
              if (isAttached()) receipts.update(name, session, receipt);
            },
            typing(session, on) {
              if (isAttached())
                emit("channels:typing-changed", () => ({ channel: name, session, on }));
            },
            sessionIdle(session) {
              if (isAttached()) streams.sessionIdle({ channel: name, session });
            },
            isBusy: (session) => isAttached() && inbound.isBusy(name, session),
            close() {
              if (isAttached()) ports.delete(name);
            },
          };
        },
      };
      return { channels: offered };
    },
  };
}
