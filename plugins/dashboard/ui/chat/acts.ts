/** Acts on a conversation: rename, copy its link, export, delete. @module */
import { signal } from "@preact/signals";
import type { ComponentProps } from "preact";
import { confirm } from "../frame/dialogs.ts";
import { toast } from "../frame/toasts.ts";
import { copyText } from "../parts/copy.tsx";
import type { Menu } from "../parts/menu.tsx";
import { pathOf, type ChatStore, type ConversationTarget } from "./state/store.ts";

type MenuItems = ComponentProps<typeof Menu>["items"];

/** The conversation whose title is edited. */
export const renamed = signal<{ readonly id: string; readonly title: string } | undefined>(
  undefined,
);

export interface ConversationActs {
  readonly menu: (id: string, title: string, target: ConversationTarget) => MenuItems;
  readonly rename: (id: string, title: string) => void;
}

/** Creates the acts for the page. `url` adds the base path. */
export function createActs(store: ChatStore, url: (path: string) => string): ConversationActs {
  const rename = (id: string, title: string): void => {
    renamed.value = { id, title };
  };
  const copyLink = async (target: ConversationTarget): Promise<void> => {
    const isCopied = await copyText(location.origin + url(pathOf(target)));
    toast(isCopied ? { text: "Link copied" } : { text: "Can't copy the link", tone: "bad" });
  };
  const remove = async (id: string, title: string, { session }: ConversationTarget) => {
    const isSure = await confirm({
      title: "Delete conversation?",
      text: `“${title}” and its messages are deleted from this server.`,
      verb: "Delete",
      danger: true,
    });
    if (!isSure) return;
    const undo = store.list.remove(id, ({ message }) =>
      toast({ text: `“${title}” was not deleted: ${message}`, tone: "bad" }),
    );
    store.close(session);
    toast({ text: "Conversation deleted", action: { name: "Undo", act: undo } });
  };
  const exportUrl = (id: string, format: string): string =>
    url(`/api/conversations/${id}/export?format=${format}`);
  return {
    rename,
    menu: (id, title, target) => [
      { name: "Rename…", icon: "pencil", act: () => rename(id, title) },
      { name: "Copy link", icon: "link", act: () => copyLink(target) },
      { name: "Export as Markdown", icon: "download", href: exportUrl(id, "markdown") },
      { name: "Export as JSON", icon: "braces", href: exportUrl(id, "json") },
      "-",
      { name: "Delete…", icon: "trash-2", danger: true, act: () => remove(id, title, target) },
    ],
  };
}
