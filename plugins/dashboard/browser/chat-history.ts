// Shows what was said before in a conversation of the chat page, page by page.
import type { ConversationsView, ConversationView } from "../api/conversation-views.ts";
import type { Transcript } from "./chat-messages.ts";
import { button } from "./dom.ts";
import { requestAsOwner } from "./owner.ts";

const path = "/api/conversations";

/**
 * Adds the latest turns to the transcript, with a button for earlier ones. Without a durable store,
 * nothing changes.
 *
 * @param around - Runs a change of the list so that the visible messages stay in place.
 */
export async function showHistory(
  session: string,
  transcript: Transcript,
  around: (change: () => void) => void,
): Promise<void> {
  const query = new URLSearchParams({ session });
  const list = await requestAsOwner<ConversationsView>("GET", `${path}?${query}`);
  const [summary] = "error" in list ? [] : list.body.conversations;
  if (summary?.session === session) await addPage(`${path}/${summary.id}`, transcript, around);
}

async function addPage(
  conversation: string,
  transcript: Transcript,
  around: (change: () => void) => void,
  cursor?: string,
): Promise<void> {
  const query = new URLSearchParams(cursor === undefined ? {} : { before: cursor });
  const answer = await requestAsOwner<ConversationView>("GET", `${conversation}?${query}`);
  if ("error" in answer) return;
  const { turns, before } = answer.body;
  around(() => {
    transcript.addHistory(turns);
    transcript.list.parentElement?.querySelector("[data-earlier]")?.remove();
    if (before === undefined) return;
    const earlier = button("Load earlier", "quiet small", () =>
      addPage(conversation, transcript, around, before),
    );
    earlier.dataset["earlier"] = "";
    transcript.list.before(earlier);
  });
}
