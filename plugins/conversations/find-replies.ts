// Finds the message of a client, and what answers it, in the history of its session.
import { codeOf } from "../../kernel/index.ts";
import type { ConversationHistory } from "./contract.ts";
import type { Address } from "./messages.ts";

const pageSize = 200;
/** As many entries as those among which the ids of a session are known. */
const maxTurns = 2_048;
/** Pages with large images have fewer turns. */
const maxPages = 40;

/**
 * Looks at the newest 2,048 turns.
 *
 * @param request - The id that the client gave its message.
 * @returns Ids of the messages that answer it; undefined if the message is not one of them.
 */
export async function findReplies(
  history: Pick<ConversationHistory, "find" | "read">,
  address: Address,
  request: string,
): Promise<readonly string[] | undefined> {
  const found = await history.find(address);
  if (!found) return undefined;
  const replies: string[] = [];
  let before: string | undefined;
  let turns = 0;
  try {
    for (let page = 0; page < maxPages && turns < maxTurns; page++) {
      const options = { limit: pageSize, ...(before !== undefined && { before }) };
      const { items, before: earlier } = await history.read(found.id, options);
      const own = items.filter(({ inReplyTo }) => inReplyTo === request);
      replies.unshift(...own.map(({ id }) => id));
      if (items.some(({ requestId }) => requestId === request)) return replies;
      if (earlier === undefined) return undefined;
      before = earlier;
      turns += items.length;
    }
  } catch (error) {
    // The conversation was deleted in the meantime.
    if (codeOf(error) !== "not_found") throw error;
  }
  return undefined;
}
