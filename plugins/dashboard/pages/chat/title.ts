/** Titles of conversations. @module */
import type { Conversation } from "./state/conversation.ts";
import type { ChatStore } from "./state/store.ts";
import type { Thread } from "./state/thread.ts";

const maxTitle = 60;

/** The stored title, or the first line of the first message until there is one. */
export function titleOf(store: ChatStore, conversation: Conversation): string {
  const summary = store.summaryOf(conversation);
  if (summary) return summary.title || summary.session;
  return firstLine(conversation.thread.value) || "New conversation";
}

/** The marks that questions contain most. The server removes more from the title. */
const marks = /\*\*|__|~~|`|^#+ /g;

function firstLine({ messages }: Thread): string {
  const text = messages.find(({ kind }) => kind === "user")?.content ?? "";
  const [line = ""] = text.replace(marks, "").trim().split("\n", 1);
  return [...line].slice(0, maxTitle).join("");
}

/** Title of the page in the browser. */
export const pageTitle = (store: ChatStore): string => {
  const { conversation } = store.place.value;
  return conversation ? titleOf(store, conversation) : "Chat";
};
