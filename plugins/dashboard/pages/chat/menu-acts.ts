/** Acts of the menu of a conversation. Loaded after the page. @module */
import { confirm } from "../frame/dialogs.ts";
import { toast } from "../frame/toasts.ts";
import { copyText } from "../parts/copy.tsx";
import { deleteLater } from "./state/deletion.ts";
import type { ChatStore, ConversationTarget } from "./state/store.ts";

/** @param path - Path of the conversation with the base path. */
export async function copyLink(path: string): Promise<void> {
  const isCopied = await copyText(location.origin + path);
  toast(isCopied ? { text: "Link copied" } : { text: "Can't copy the link", tone: "bad" });
}

/** Hides a conversation from the list of this browser, or shows it again. */
export function archive(store: ChatStore, id: string, target: ConversationTarget): void {
  if (!store.list.toggleArchived(id)) return;
  const wasOpen = store.close(target);
  const undo = (): void => {
    store.list.toggleArchived(id);
    if (wasOpen) store.open(target);
  };
  toast({ text: "Conversation archived in this browser", action: { name: "Undo", act: undo } });
}

/** Asks first. The conversation can be restored for some seconds. */
export async function remove(
  store: ChatStore,
  id: string,
  title: string,
  target: ConversationTarget,
): Promise<void> {
  const isSure = await confirm({
    title: "Delete conversation?",
    text: `“${title}” and its messages are deleted from this server.`,
    verb: "Delete",
    danger: true,
  });
  if (!isSure) return;
  const undo = deleteLater(store.list, id, ({ message }) =>
    toast({ text: `“${title}” was not deleted: ${message}`, tone: "bad" }),
  );
  const wasOpen = store.close(target);
  const restore = (): void => {
    undo();
    if (wasOpen) store.open(target);
  };
  toast({ text: "Conversation deleted", action: { name: "Undo", act: restore } });
}
