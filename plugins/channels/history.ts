/** Reads the history of a session for the application. */
import { codeOf } from "../../kernel/index.ts";
import type { Conversations } from "../conversations/index.ts";
import type { Channels } from "./contract.ts";

/**
 * Creates the call that reads turns. A session without a conversation has an empty page, and so has
 * every session without the plugin `conversations`.
 */
export const createHistory =
  (conversations: Pick<Conversations, "find" | "read"> | undefined): Channels["history"] =>
  async ({ channel, session }, { limit, before } = {}) => {
    const found = await conversations?.find({ channel, session });
    if (!found) return { items: [] };
    const options = {
      ...(limit !== undefined && { limit }),
      ...(before !== undefined && { before }),
    };
    try {
      return await conversations!.read(found.id, options);
    } catch (error) {
      // The conversation was deleted in the meantime.
      if (codeOf(error) === "not_found" && before === undefined) return { items: [] };
      throw error;
    }
  };
