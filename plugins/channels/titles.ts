/** Passes titles of the application to the conversations. */
import { codeOf, type Log } from "../../kernel/index.ts";
import { BoundedMap, keyOf } from "../../lib/util.ts";
import type { Conversations } from "../conversations/contract.ts";
import { channelsErrors } from "./errors.ts";
import type { Address } from "./contract.ts";

const maxTitle = 200;
/** Titles of conversations whose first message is not stored yet. */
const maxWaiting = 1_024;

/**
 * Sets titles. The application may name a conversation before its first message is stored: the
 * title then waits for the end of the answer.
 */
export class Titles {
  private readonly conversations: Pick<Conversations, "find" | "rename"> | undefined;
  private readonly log: Log;
  /** By address. */
  readonly waiting = new BoundedMap<string, string>(maxWaiting);

  constructor(conversations: Pick<Conversations, "find" | "rename"> | undefined, log: Log) {
    this.conversations = conversations;
    this.log = log;
  }

  /** @throws title_invalid if the title is empty or too long. */
  async set(to: Address, title: string): Promise<void> {
    const text = typeof title === "string" ? title.trim() : "";
    if (text === "" || text.length > maxTitle) throw channelsErrors.title_invalid();
    const key = keyOf(to.channel, to.session);
    this.waiting.delete(key);
    if (await this.apply(to, text)) return;
    this.waiting.set(key, text);
  }

  /** The conversation has a message now, if it is stored at all. */
  answerEnded(address: Address): void {
    const key = keyOf(address.channel, address.session);
    const title = this.waiting.get(key);
    if (title === undefined) return;
    this.waiting.delete(key);
    this.apply(address, title).catch((err: unknown) =>
      this.log.warn({ err, ...address }, "the title of a conversation could not be stored"),
    );
  }

  /** The conversation is being deleted. */
  forget(address: Address): void {
    this.waiting.delete(keyOf(address.channel, address.session));
  }

  /** @returns False if the conversation does not exist yet. */
  private async apply(address: Address, title: string): Promise<boolean> {
    if (!this.conversations) return true;
    const found = await this.conversations.find(address);
    if (!found) return false;
    try {
      await this.conversations.rename(found.id, title, { by: "application" });
    } catch (error) {
      // It was deleted in the meantime.
      if (codeOf(error) !== "not_found") throw error;
    }
    return true;
  }
}
