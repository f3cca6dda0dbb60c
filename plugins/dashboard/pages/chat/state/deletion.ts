/** Deletes a conversation, with time for Undo. Loaded after the page. @module */
import { sendRequest, type ApiError } from "../../live/api.ts";
import { base } from "../../live/base.ts";
import type { ConversationList } from "./list.ts";

/** As long as the toast with the button. */
const undoMs = 8_000;

/**
 * Hides a conversation now and deletes it when the time for Undo is over.
 *
 * @param failed - Runs if the server does not delete it; the conversation is shown again.
 * @returns Shows it again instead.
 */
export function deleteLater(
  list: ConversationList,
  id: string,
  failed: (error: ApiError) => void,
): () => void {
  const path = `/api/conversations/${id}`;
  list.hide(id, true);
  const leave = (): void => {
    clearTimeout(timer);
    // The page may end before a response; `keepalive` lets the request finish.
    void fetch(base() + path, { method: "DELETE", keepalive: true });
  };
  const timer = setTimeout(async () => {
    removeEventListener("pagehide", leave);
    const answer = await sendRequest("DELETE", path);
    if ("error" in answer && answer.error.status !== 404) {
      list.hide(id, false);
      failed(answer.error);
    } else list.forget(id);
  }, undoMs);
  addEventListener("pagehide", leave, { once: true });
  return () => {
    clearTimeout(timer);
    removeEventListener("pagehide", leave);
    list.hide(id, false);
  };
}
