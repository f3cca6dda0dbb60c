/** Acts on a conversation: rename, copy its link, export, delete. @module */
import { signal } from "@preact/signals";
import type { ComponentProps, JSX } from "preact";
import { useState } from "preact/hooks";
import type { ConversationView, FlagName } from "../../shared/conversation-views.ts";
import { confirm } from "../frame/dialogs.ts";
import { toast } from "../frame/toasts.ts";
import { sendRequest } from "../live/api.ts";
import { base } from "../live/base.ts";
import { requestAsOwner } from "../live/owner.ts";
import { Button } from "../parts/button.tsx";
import { copyText } from "../parts/copy.tsx";
import { FieldProblem } from "../parts/field.tsx";
import type { Menu } from "../parts/menu.tsx";
import { Modal } from "../parts/modal.tsx";
import type { ConversationList } from "./state/list.ts";
import { pathOf, type ChatStore, type ConversationTarget } from "./state/store.ts";

/** The conversation whose title is edited. */
const renamed = signal<{ readonly id: string; readonly title: string } | undefined>(undefined);

/** Asks for another title of a conversation. */
export function rename(id: string, title: string): void {
  renamed.value = { id, title };
}

/** The acts on a conversation. `url` adds the base path. */
export function menuOf(
  store: ChatStore,
  url: (path: string) => string,
  id: string,
  title: string,
  target: ConversationTarget,
): ComponentProps<typeof Menu>["items"] {
  const { list } = store;
  const isPinned = list.has("pinned", id);
  const isArchived = list.has("archived", id);
  const hasFlags = list.keepsFlags.value;
  const exported = url(`/api/conversations/${id}/export?format=`);
  return [
    ...(hasFlags
      ? [
          {
            name: isPinned ? "Unpin" : "Pin",
            icon: isPinned ? "pin-off" : "pin",
            act: () => void flag(list, id, "pinned", !isPinned),
          },
        ]
      : []),
    { name: "Rename…", icon: "pencil", act: () => rename(id, title) },
    { name: "Copy link", icon: "link", act: () => copyLink(url(pathOf(target))) },
    { name: "Export as Markdown", icon: "download", href: `${exported}markdown` },
    { name: "Export as JSON", icon: "braces", href: `${exported}json` },
    ...(hasFlags
      ? [
          {
            name: isArchived ? "Move to the list" : "Archive",
            icon: "archive",
            act: () =>
              void (isArchived ? flag(list, id, "archived", false) : archive(store, id, target)),
          },
        ]
      : []),
    "-",
    {
      name: "Delete…",
      icon: "trash-2",
      danger: true,
      act: () => remove(store, id, title, target),
    },
  ];
}

/** @param path - Path of the conversation with the base path. */
async function copyLink(path: string): Promise<void> {
  const isCopied = await copyText(location.origin + path);
  toast(isCopied ? { text: "Link copied" } : { text: "Can't copy the link", tone: "bad" });
}

/** Sets a flag of a conversation. @returns False, and says so, if the server rejects it. */
async function flag(
  list: ConversationList,
  id: string,
  name: FlagName,
  isOn: boolean,
): Promise<boolean> {
  const error = await list.flag(id, name, isOn);
  if (error) toast({ text: `The conversation stays as it was: ${error.message}`, tone: "bad" });
  return !error;
}

/** Hides a conversation from the list, until it is used again. */
async function archive(store: ChatStore, id: string, target: ConversationTarget): Promise<void> {
  const { list } = store;
  const wasOpen = store.close(target);
  const reopen = (): void => {
    if (wasOpen) store.open(target);
  };
  if (!(await flag(list, id, "archived", true))) return reopen();
  const undo = (): void => {
    void flag(list, id, "archived", false);
    reopen();
  };
  toast({ text: "Conversation archived", action: { name: "Undo", act: undo } });
}

/** Asks first. The conversation can be restored for some seconds. */
async function remove(
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
  const undo = deleteLater(store.list, id, title);
  const wasOpen = store.close(target);
  const restore = (): void => {
    undo();
    if (wasOpen) store.open(target);
  };
  toast({ text: "Conversation deleted", action: { name: "Undo", act: restore } });
}

/** As long as the toast with the button. */
const undoMs = 8_000;

/**
 * Hides a conversation now and deletes it when the time for Undo is over. If the server does not
 * delete it, the conversation is shown again.
 *
 * @returns Shows it again instead.
 */
function deleteLater(list: ConversationList, id: string, title: string): () => void {
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
      toast({ text: `“${title}” was not deleted: ${answer.error.message}`, tone: "bad" });
    }
  }, undoMs);
  addEventListener("pagehide", leave, { once: true });
  return () => {
    clearTimeout(timer);
    removeEventListener("pagehide", leave);
    list.hide(id, false);
  };
}

/** Asks for the title of the conversation that is renamed, and closes when the server has it. */
export function RenameDialog({ store }: { readonly store: ChatStore }): JSX.Element | null {
  return renamed.value ? <RenameForm store={store} {...renamed.value} /> : null;
}

function RenameForm({ store, id, title }: { store: ChatStore; id: string; title: string }) {
  const close = (): void => {
    renamed.value = undefined;
  };
  const shown = renamed.value;
  const [problem, setProblem] = useState("");
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const field = form.elements.namedItem("title") as HTMLInputElement;
    const body = { title: field.value.trim() };
    const path = `/api/conversations/${id}`;
    const answer = await requestAsOwner<Pick<ConversationView, "conversation">>(
      "PATCH",
      path,
      body,
    );
    if ("error" in answer) return setProblem(answer.error.message);
    store.list.update(answer.body.conversation);
    // The user may have closed the dialog and opened it for another conversation.
    if (renamed.value === shown) close();
    toast({ text: "Renamed" });
  };
  return (
    <Modal label="Rename conversation" onClose={close}>
      <form onSubmit={submit}>
        <h2>Rename conversation</h2>
        <div class="field">
          <label for="rename">Title</label>
          <input
            class="input"
            id="rename"
            name="title"
            maxLength={200}
            defaultValue={title}
            autocomplete="off"
            aria-describedby="rename-hint"
            data-autofocus
          />
          <p class="hint" id="rename-hint">
            An empty title restores the first words of the conversation.
          </p>
          <FieldProblem text={problem} />
        </div>
        <footer>
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind="primary">
            Rename
          </Button>
        </footer>
      </form>
    </Modal>
  );
}
