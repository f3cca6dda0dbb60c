/** Scrolls to a message. @module */
import type { Conversation } from "./state/conversation.ts";
import type { Thread } from "./state/thread.ts";
import { choosePathTo } from "./state/versions.ts";

const maxPages = 100;

/** Loads earlier messages until the one with this number is there, then shows it. */
export async function showMessage(
  conversation: Conversation,
  seq: number,
  signal: AbortSignal,
): Promise<void> {
  for (let page = 0; page < maxPages && !signal.aborted; page++) {
    const { messages } = conversation.thread.value;
    const found = messages.find((message) => message.seq === seq);
    if (found) {
      const { choices } = conversation;
      choices.value = choosePathTo(messages, choices.value, found.key);
      return flash(found);
    }
    if (conversation.history.value.before === undefined && page > 0) return;
    await (page === 0 ? conversation.loadHistory() : conversation.loadEarlier());
  }
}

function flash(message: Thread["messages"][number]): void {
  requestAnimationFrame(() => {
    const id = "requestId" in message && message.requestId ? message.requestId : message.key;
    const element =
      document.getElementById(message.kind === "user" ? `m-${id}` : `m-answer ${id}`) ??
      document.getElementById(`m-${message.key}`);
    element?.scrollIntoView({ block: "center" });
    element?.classList.add("found");
  });
}
