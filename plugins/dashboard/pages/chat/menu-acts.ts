/** Acts of the menu of a conversation. Loaded after the page. @module */
import { confirm } from "../frame/dialogs.ts";
import { toast } from "../frame/toasts.ts";
import { copyText } from "../parts/copy.tsx";
import { deleteLater } from "./state/deletion.ts";
import type { ChatStore } from "./state/store.ts";

/** @param path - Path of the conversation with the base path. */
export async function copyLink(path: string): Promise<void> {
  const isCopied = await copyText(location.origin + path);
  toast(isCopied ? { text: "Link copied" } : { text: "Can't copy the link", tone: "bad" });
}

/** Asks first. The conversation can be restored for some seconds. */
export async function remove(
  store: ChatStore,
  id: string,
  title: string,
  session: string,
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
  store.close(session);
  toast({ text: "Conversation deleted", action: { name: "Undo", act: undo } });
}
