/** Passes titles of the application to the conversations. */
import { codeOf, type Log } from "../../kernel/index.ts";
import type { Conversations } from "../conversations/contract.ts";
import { channelsErrors } from "./errors.ts";
import type { Address } from "./contract.ts";
import type { Sessions } from "./sessions.ts";

const maxTitle = 200;

/**
 * Sets titles. The application may name a conversation before its first message is stored: the
 * title then waits for the end of the answer.
 */
export class Titles {
  private readonly conversations: Pick<Conversations, "find" | "rename"> | undefined;
  private readonly log: Log;
  private readonly sessions: Sessions;

  constructor(
    conversations: Pick<Conversations, "find" | "rename"> | undefined,
    log: Log,
    sessions: Sessions,
  ) {
    this.conversations = conversations;
    this.log = log;
    this.sessions = sessions;
  }

  /** @throws title_invalid if the title is empty or too long. */
  async set(to: Address, title: string): Promise<void> {
    const text = typeof title === "string" ? title.trim() : "";
    if (text === "" || text.length > maxTitle) throw channelsErrors.title_invalid();
    this.forget(to);
    if (!(await this.apply(to, text))) this.sessions.open(to).title = text;
  }

  /** The conversation has a message now, if it is stored at all. */
  answerEnded(address: Address): void {
    const title = this.forget(address);
    if (title === undefined) return;
    this.apply(address, title).catch((err: unknown) =>
      this.log.warn({ err, ...address }, "the title of a conversation could not be stored"),
    );
  }

  /** @returns The title that waited. */
  forget(address: Address): string | undefined {
    const session = this.sessions.find(address);
    const title = session?.title;
    if (session) session.title = undefined;
    return title;
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
