// Finds the message of a client in the history of its session.
import { codeOf } from "../../kernel/index.ts";
import type { Address } from "../conversations/contract.ts";
import type { ConversationHistory } from "../conversations/contract.ts";

const pageSize = 200;
const maxTurns = 1_000;
/** Pages with large images have fewer turns. */
const maxPages = 20;

/** @returns True if one of the newest 1,000 turns is the message with this id. */
export async function findTurn(
  history: Pick<ConversationHistory, "find" | "read">,
  address: Address,
  request: string,
): Promise<boolean> {
  const found = await history.find(address);
  if (!found) return false;
  let before: string | undefined;
  let turns = 0;
  try {
    for (let page = 0; page < maxPages && turns < maxTurns; page++) {
      const options = { limit: pageSize, ...(before !== undefined && { before }) };
      const { items, before: earlier } = await history.read(found.id, options);
      if (items.some(({ requestId }) => requestId === request)) return true;
      if (earlier === undefined) return false;
      before = earlier;
      turns += items.length;
    }
  } catch (error) {
    // The conversation was deleted in the meantime.
    if (codeOf(error) !== "not_found") throw error;
  }
  return false;
}
