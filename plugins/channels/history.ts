/** Reads the history of a session for the application. */
import { codeOf } from "../../kernel/index.ts";
import { readWithout } from "../../lib/pages.ts";
import type { Conversations, Turn } from "../conversations/index.ts";
import type { Address, Channels } from "./contract.ts";

/** Notices are the words of neither side, so the application does not get them back. */
const isNotice = ({ kind }: Turn): boolean => kind === "notice";

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
      return await readWithout((page) => conversations!.read(found.id, page), options, isNotice);
    } catch (error) {
      // The conversation was deleted in the meantime.
      if (codeOf(error) === "not_found" && before === undefined) return { items: [] };
      throw error;
    }
  };

const pageSize = 200;

/**
 * Finds the newest turn that fits.
 *
 * @param maxPages - How many pages of 200 turns are read: a client may ask for what does not exist.
 */
export async function findTurn(
  history: Channels["history"],
  to: Address,
  fits: (turn: Turn) => boolean,
  maxPages: number,
): Promise<Turn | undefined> {
  let before: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const options = { limit: pageSize, ...(before !== undefined && { before }) };
    const { items, before: next } = await history(to, options);
    const found = items.findLast(fits);
    if (found || next === undefined) return found;
    before = next;
  }
  return undefined;
}
