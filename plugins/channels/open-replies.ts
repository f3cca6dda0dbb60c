/** Replies that are not final, so that a stop of the kernel can end them as incomplete. */
import { keyOf } from "../../lib/util.ts";
import { channelsErrors } from "./errors.ts";
import type { Address, Channels, GrowingMessage, InboundMessage, Receipt } from "./contract.ts";

type Sending = Pick<Channels, "send" | "update" | "remove">;
/** A cut text is marked by Doorward only, so the public calls do not name the mark. */
type Update = (to: Address, id: string, message: GrowingMessage) => Promise<Receipt>;

interface OpenReply {
  readonly to: Address;
  latest: GrowingMessage;
}

/** Answers whose replies are kept. */
const maxAnswers = 16_384;

/** Texts of streams end by themselves. */
export class OpenReplies implements Sending {
  private readonly sending: Sending;
  /** Open replies by their ids, for each message that they answer. */
  private readonly answers = new Map<string, Map<string, OpenReply>>();
  /** The same replies by their own ids. */
  private readonly replies = new Map<string, OpenReply>();
  /** Ids of the texts that were cut, so that nothing overwrites them. */
  private readonly cutIds = new Set<string>();

  /** @param sending - Sends, updates and removes without noting it here. */
  constructor(sending: Sending) {
    this.sending = sending;
  }

  send(to: Address, message: GrowingMessage): Promise<Receipt> {
    const sent = this.sending.send(to, message);
    const { final = true, placeholder = false, inReplyTo } = message;
    if (inReplyTo === undefined || (final && !placeholder)) return sent;
    return sent.then((receipt) => {
      this.add(receipt.id, keyOf(to.channel, to.session, inReplyTo), { to, latest: message });
      return receipt;
    });
  }

  update(to: Address, id: string, message: GrowingMessage): Promise<Receipt> {
    if (this.cutIds.has(id)) return Promise.reject(channelsErrors.not_running());
    const reply = this.replies.get(id);
    if (reply && message.final) this.close(id, reply);
    else if (reply) {
      const { added: _, ...latest } = message;
      reply.latest = { ...latest, inReplyTo: reply.latest.inReplyTo! };
    }
    return this.sending.update(to, id, message);
  }

  remove(to: Address, id: string): Promise<Receipt> {
    const reply = this.replies.get(id);
    if (reply) this.close(id, reply);
    return this.sending.remove(to, id);
  }

  /**
   * Ends the replies to a message with their latest text, as incomplete.
   *
   * @returns A promise that never rejects; undefined if there are none.
   */
  cut(message: InboundMessage): Promise<unknown> | undefined {
    const key = keyOf(message.channel, message.session, message.id);
    const answer = this.answers.get(key);
    if (!answer?.size) return undefined;
    const texts = [...answer].filter(([, { latest }]) => latest.placeholder !== true);
    const sent = texts.map(([id, { to, latest }]) => {
      this.cutIds.add(id);
      const update: Update = this.sending.update;
      return update(to, id, { ...latest, final: true, cut: "not_running" });
    });
    return sent.length > 0 ? Promise.allSettled(sent) : undefined;
  }

  /** The answer to a message has ended. */
  forget(message: InboundMessage): void {
    if (this.answers.size > 0) this.drop(keyOf(message.channel, message.session, message.id));
  }

  private add(id: string, key: string, reply: OpenReply): void {
    const answer = this.answers.get(key) ?? new Map<string, OpenReply>();
    this.answers.set(key, answer.set(id, reply));
    this.replies.set(id, reply);
    const [oldest] = this.answers.size > maxAnswers ? this.answers.keys() : [];
    if (oldest !== undefined) this.drop(oldest);
  }

  private close(id: string, { to, latest }: OpenReply): void {
    this.replies.delete(id);
    this.answers.get(keyOf(to.channel, to.session, latest.inReplyTo!))?.delete(id);
  }

  private drop(key: string): void {
    for (const id of this.answers.get(key)?.keys() ?? []) this.replies.delete(id);
    this.answers.delete(key);
  }
}
