/** Replies that are not final, so that a stop of the kernel can end them as incomplete. */
import { BoundedMap } from "../../lib/util.ts";
import { channelsErrors } from "./errors.ts";
import type { Address, Channels, GrowingMessage, InboundMessage, Receipt } from "./contract.ts";
import type { Sessions } from "./sessions.ts";

type Sending = Pick<Channels, "send" | "update" | "remove">;
/** A cut text is marked by Doorward only, so the public calls do not name the mark. */
type Update = (to: Address, id: string, message: GrowingMessage) => Promise<Receipt>;

/** Open replies of one session that are kept. */
const maxReplies = 1_024;

/** Texts of streams end by themselves. */
export class OpenReplies implements Sending {
  private readonly sending: Sending;
  private readonly sessions: Sessions;
  /** Ids of the texts that were cut, so that nothing overwrites them. */
  private readonly cutIds = new Set<string>();

  /** @param sending - Sends, updates and removes without noting it here. */
  constructor(sending: Sending, sessions: Sessions) {
    this.sending = sending;
    this.sessions = sessions;
  }

  send(to: Address, message: GrowingMessage): Promise<Receipt> {
    const sent = this.sending.send(to, message);
    const { final = true, placeholder = false, inReplyTo } = message;
    if (inReplyTo === undefined || (final && !placeholder)) return sent;
    return sent.then((receipt) => {
      const session = this.sessions.open(to);
      session.replies ??= new BoundedMap(maxReplies);
      session.replies.set(receipt.id, message);
      return receipt;
    });
  }

  update(to: Address, id: string, message: GrowingMessage): Promise<Receipt> {
    if (this.cutIds.has(id)) return Promise.reject(channelsErrors.not_running());
    const replies = this.sessions.find(to)?.replies;
    const reply = replies?.get(id);
    if (message.final) replies?.delete(id);
    else if (reply) {
      const { added: _, ...latest } = message;
      replies!.set(id, { ...latest, inReplyTo: reply.inReplyTo! });
    }
    return this.sending.update(to, id, message);
  }

  remove(to: Address, id: string): Promise<Receipt> {
    this.sessions.find(to)?.replies?.delete(id);
    return this.sending.remove(to, id);
  }

  /**
   * Ends the replies to a message with their latest text, as incomplete.
   *
   * @returns A promise that never rejects; undefined if there are none.
   */
  cut({ channel, session, id: request }: InboundMessage): Promise<unknown> | undefined {
    const replies = this.sessions.find({ channel, session })?.replies ?? [];
    const texts = [...replies].filter(
      ([, { inReplyTo, placeholder }]) => inReplyTo === request && placeholder !== true,
    );
    const sent = texts.map(([id, latest]) => {
      this.cutIds.add(id);
      const update: Update = this.sending.update;
      return update({ channel, session }, id, { ...latest, final: true, cut: "not_running" });
    });
    return sent.length > 0 ? Promise.allSettled(sent) : undefined;
  }

  /** The answer to a message has ended. */
  forget(message: InboundMessage): void {
    const replies = this.sessions.find(message)?.replies;
    for (const [id, { inReplyTo }] of replies ?? [])
      if (inReplyTo === message.id) replies!.delete(id);
  }
}
