/** Acts on a conversation: rename, copy its link, export, delete. @module */
import { signal } from "@preact/signals";
import type { ComponentProps } from "preact";
import { later } from "../live/later.ts";
import type { Menu } from "../parts/menu.tsx";
import { pathOf, type ChatStore, type ConversationTarget } from "./state/store.ts";

const menuActs = later(() => import("./menu-acts.ts"));

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
  const exportUrl = (id: string, format: string): string =>
    url(`/api/conversations/${id}/export?format=${format}`);
  return {
    rename,
    menu: (id, title, target) => {
      const { list } = store;
      const isPinned = list.flags.value.pinned.includes(id);
      return [
        {
          name: isPinned ? "Unpin" : "Pin",
          icon: isPinned ? "pin-off" : "pin",
          act: () => list.togglePin(id),
        },
        { name: "Rename…", icon: "pencil", act: () => rename(id, title) },
        {
          name: "Copy link",
          icon: "link",
          act: () => menuActs.use(({ copyLink }) => copyLink(url(pathOf(target)))),
        },
        { name: "Export as Markdown", icon: "download", href: exportUrl(id, "markdown") },
        { name: "Export as JSON", icon: "braces", href: exportUrl(id, "json") },
        {
          name: store.isArchived(id) ? "Move to the list" : "Archive",
          icon: "archive",
          act: () => menuActs.use(({ archive }) => archive(store, id, target)),
        },
        "-",
        {
          name: "Delete…",
          icon: "trash-2",
          danger: true,
          act: () => menuActs.use(({ remove }) => remove(store, id, title, target)),
        },
      ];
    },
  };
}
