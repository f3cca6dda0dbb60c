/** Keeps what is said over a channel, so that its adapter need not. */
import { codeOf, type Clock, type Log } from "../../kernel/index.ts";
import { keyOf } from "../../lib/util.ts";
import type { ConversationRecord, Conversations } from "../conversations/contract.ts";
import type { AdapterReceipt, ChannelAdapter, GrowingMessage, InboundMessage } from "./contract.ts";

interface RecordingOptions {
  readonly conversations: Pick<Conversations, "record"> | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** Records the channels of one kernel. Each record is opened once. */
export class Recording {
  private readonly options: RecordingOptions;
  private readonly records = new Map<string, ConversationRecord>();
  /** Turns that are being stored. */
  private readonly storing = new Map<string, Promise<unknown>>();

  constructor(options: RecordingOptions) {
    this.options = options;
  }

  /** True if the messages of this channel are in the conversations. */
  isKept({ keeps = true }: ChannelAdapter): boolean {
    return this.options.conversations !== undefined && keeps !== false;
  }

  /** @returns The adapter, whose messages are recorded unless their channel keeps them. */
  observe(adapter: ChannelAdapter): ChannelAdapter {
    const { conversations } = this.options;
    if (!conversations || (adapter.keeps ?? true) !== true) return adapter;
    const record = this.records.get(adapter.name) ?? conversations.record(adapter.name);
    this.records.set(adapter.name, record);
    return this.recorded(adapter, record);
  }

  /**
   * The client has received a message before it is recorded, so that no error is in the record.
   * A question is recorded first, so that a crash leaves no open question on the channel.
   */
  private recorded(adapter: ChannelAdapter, record: ConversationRecord): ChannelAdapter {
    const { clock } = this.options;
    const asks = (session: string, { question }: GrowingMessage): boolean =>
      question !== undefined && record.canKeep(session);
    const keep = this.createKeep(adapter.name, record);
    type Receipt = AdapterReceipt | void;
    const {
      name,
      resumeMs,
      updateMs,
      drainMs,
      accepts,
      update,
      remove,
      typing,
      failed,
      ended,
      forgotten,
    } = adapter;
    return {
      name,
      ...(resumeMs !== undefined && { resumeMs }),
      ...(updateMs !== undefined && { updateMs }),
      ...(drainMs !== undefined && { drainMs }),
      ...(accepts && { accepts }),
      ...(typing && { typing: (...args) => adapter.typing!(...args) }),
      ...(failed && { failed: (...args) => adapter.failed!(...args) }),
      ...(ended && { ended: (...args) => adapter.ended!(...args) }),
      ...(forgotten && { forgotten: (...args) => adapter.forgotten!(...args) }),
      send: async (session, id, message): Promise<Receipt> => {
        // Nothing is shown of an answer to a message that is not stored.
        await this.storing.get(keyOf(name, session, message.inReplyTo ?? ""));
        if (asks(session, message)) {
          await record.sent(session, id, message, clock.now());
          try {
            return await adapter.send(session, id, message);
          } catch (error) {
            await keep(session, () => record.removed(session, id, clock.now(), true));
            throw error;
          }
        }
        const receipt = await adapter.send(session, id, message);
        await keep(session, () => record.sent(session, id, message, clock.now()));
        return receipt;
      },
      turn: (message: InboundMessage) => this.recordTurn(adapter, record, message),
      ...(update && {
        update: async (session, id, message): Promise<Receipt> => {
          if (asks(session, message)) {
            await record.updated(session, id, message, clock.now());
            return this.showSettlement(adapter, session, id, message);
          }
          const receipt = await adapter.update!(session, id, message);
          await keep(session, () => record.updated(session, id, message, clock.now()));
          return receipt;
        },
      }),
      ...(remove && {
        async remove(session, id): Promise<Receipt> {
          const receipt = await adapter.remove!(session, id);
          await keep(session, () => record.removed(session, id, clock.now()));
          return receipt;
        },
      }),
    };
  }

  /**
   * A message that the store refuses is not handed over, so the channel does not see its turn.
   *
   * @throws The error of the store.
   */
  private recordTurn(
    adapter: ChannelAdapter,
    record: ConversationRecord,
    message: InboundMessage,
  ): Promise<void> {
    const { session, id } = message;
    const kept = this.keepTurn(record, message);
    const show = async (): Promise<void> => {
      try {
        await adapter.turn?.(message);
      } catch (err) {
        const text = "the channel could not show the message of a person";
        this.options.log.error({ err, channel: adapter.name, session, id }, text);
      }
    };
    return Promise.all([kept, show()]).then(() => undefined);
  }

  /** Adds the turn, for which the answers to it wait. */
  private keepTurn(
    record: ConversationRecord,
    message: InboundMessage,
  ): Promise<unknown> | undefined {
    const { channel, session, id } = message;
    if (!record.canKeep(session)) return undefined;
    const kept = record.turn(message);
    if (!(kept instanceof Promise)) return undefined;
    const key = keyOf(channel, session, id);
    const stored = kept.finally(() => this.storing.delete(key));
    this.storing.set(key, stored);
    return stored;
  }

  /** The settlement is stored, so it counts even if the channel cannot show it. */
  private async showSettlement(
    adapter: ChannelAdapter,
    session: string,
    id: string,
    message: GrowingMessage,
  ): Promise<AdapterReceipt | void> {
    try {
      return await adapter.update!(session, id, message);
    } catch (err) {
      const text = "a settled question could not be shown; its settlement is stored";
      this.options.log.warn({ err, channel: adapter.name, session, id }, text);
      return { id, status: "undelivered", reason: codeOf(err) };
    }
  }

  /**
   * Creates the function that runs a step of the record. A failure is logged, once until the next
   * success: the message itself has arrived.
   */
  private createKeep(channel: string, record: ConversationRecord) {
    const { log } = this.options;
    let hasFailed = false;
    let hasWarned = false;
    return async (session: string, run: () => unknown): Promise<void> => {
      if (!record.canKeep(session)) {
        const text =
          "a session is not kept: its name has more than 256 bytes, or control characters";
        if (!hasWarned) log.warn({ channel }, text);
        hasWarned = true;
        return;
      }
      try {
        await run();
        hasFailed = false;
      } catch (err) {
        if (!hasFailed) log.error({ err, channel }, "messages of a channel are not kept");
        hasFailed = true;
      }
    };
  }
}
