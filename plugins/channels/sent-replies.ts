/** Remembers what updates of the replies to one message keep. */
import { mergeCalls } from "./step-schema.ts";
import type { GrowingMessage, Receipt } from "./contract.ts";

/** Replies to one message whose fields are remembered. */
const maxReplies = 1_024;

type Kept = Pick<GrowingMessage, "kind" | "inReplyTo" | "toolCalls">;

/** The kinds, calls and addressees of replies, by their ids. */
export class SentReplies {
  private readonly byId = new Map<string, Kept>();

  /** @returns False for a reply whose updates need nothing but its text. */
  static mustKeep({ kind, toolCalls, inReplyTo }: GrowingMessage, answered: string): boolean {
    return kind !== undefined || toolCalls !== undefined || inReplyTo !== answered;
  }

  /** Remembers the fields under the id of the receipt. */
  async keep(sent: Promise<Receipt>, { kind, toolCalls, inReplyTo }: Kept): Promise<Receipt> {
    const receipt = await sent;
    this.byId.set(receipt.id, {
      ...(kind && { kind }),
      ...(toolCalls && { toolCalls }),
      ...(inReplyTo !== undefined && { inReplyTo }),
    });
    const [oldest] = this.byId.size > maxReplies ? this.byId.keys() : [];
    if (oldest !== undefined) this.byId.delete(oldest);
    return receipt;
  }

  /** @returns The update with what it does not repeat. */
  merge(id: string, update: GrowingMessage): GrowingMessage {
    const kept = this.byId.get(id);
    if (!kept) return update;
    const toolCalls = mergeCalls(kept.toolCalls ?? [], update.toolCalls ?? []);
    const merged = { ...update, ...kept, ...(toolCalls.length > 0 && { toolCalls }) };
    this.byId.set(id, { ...kept, ...(toolCalls.length > 0 && { toolCalls }) });
    return merged;
  }
}
