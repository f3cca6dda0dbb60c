/** The chat: conversations with the application. @module */
import { useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { counts, countedTitle } from "../frame/counts.ts";
import { addShortcuts } from "../frame/shortcuts.ts";
import { isComposing } from "../live/composition.ts";
import { onDemand } from "../live/on-demand.ts";
import { onSignedIn } from "../live/owner.ts";
import { subscribe } from "../live/stream.ts";
import { Skeleton } from "../parts/states.tsx";
import { RenameDialog } from "./acts.tsx";
import { isListOpen, openedFile } from "./files/opened.ts";
import { List } from "./list.tsx";
import { showCard } from "./questions/out-of-sight.tsx";
import { ChatStore, type ChatData } from "./state/store.ts";
import { pageTitle } from "./title.ts";

/** The server draws the list only: which conversation is open depends on the browser. */
const useThread = onDemand(() => import("./open-thread.tsx"));
const useInspector = onDemand(() => import("./inspector.tsx"));
const useFiles = onDemand(() => import("./files/dialogs.tsx"));

export function ChatPage({ data }: { readonly data: ChatData }): JSX.Element {
  const store = useMemo(() => new ChatStore(data), []);
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    setReady(true);
    store.start();
    return followServer(store);
  }, [store]);
  const { conversation } = store.place.value;
  useSignalEffect(() => {
    document.title = countedTitle(`${pageTitle(store)} · Doorward`);
    document.body.classList.toggle("in-thread", store.place.value.conversation !== undefined);
  });
  useSignalEffect(() => {
    counts.value = { ...counts.peek(), unread: store.list.unread.value };
  });
  const isInspecting = conversation !== undefined && store.inspected.value !== undefined;
  const thread = useThread();
  const inspector = useInspector(isInspecting);
  const files = useFiles(isListOpen.value || openedFile.value !== undefined);
  const kinds = ["chat", conversation ? "open" : "", isInspecting ? "inspecting" : ""];
  return (
    <div class={kinds.filter(Boolean).join(" ")}>
      <List store={store} isReady={isReady} />
      {conversation && thread ? (
        <thread.OpenThread store={store} conversation={conversation} />
      ) : (
        <section class="thread" aria-label="Conversation">
          {conversation && <Skeleton rows={3} />}
        </section>
      )}
      {conversation && inspector && <inspector.Inspector {...{ store, conversation }} />}
      {conversation && files && <files.FileDialogs session={conversation.session} />}
      <RenameDialog store={store} />
    </div>
  );
}

/** Keeps list and connections current while the page is open. */
function followServer(store: ChatStore): () => void {
  const { list } = store;
  void list.refresh().then(() => list.startFlags());
  const retry = (): void => {
    store.reconnect("blocked");
  };
  const stop = subscribe({
    refresh: () => list.refresh(),
    refreshOn: ["connected", "disconnected", "rate"],
    on: {
      hello: ({ resumed }) => {
        retry();
        if (resumed) return;
        void store.checkApplication();
        void list.startFlags();
      },
      settings: retry,
      flags: ({ conversation }) => void list.readFlags(conversation),
      token: retry,
      program: ({ state }) => store.noteApplication(state !== "running"),
    },
  });
  onSignedIn(() => store.reconnect());
  const removeKeys = addShortcuts({
    n: () => store.openNew(),
    q: showNextQuestion,
    i: () => store.inspect(store.inspected.value === undefined ? "" : undefined),
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const { conversation } = store.place.value;
    if (event.key !== "Escape" || isComposing(event) || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const isInspecting = store.inspected.value !== undefined;
    // Escape would end the question of the answer as well: only Stop may.
    const isAsked = document.querySelector("[data-open-question]") !== null;
    if (!isInspecting && (isAsked || !conversation?.isBusy())) return;
    event.preventDefault();
    if (isInspecting) store.inspect(undefined);
    else conversation?.stop();
  };
  addEventListener("keydown", onKeyDown);
  return () => {
    stop();
    removeKeys();
    removeEventListener("keydown", onKeyDown);
  };
}

/** Moves to the next open card, never to one of its buttons. */
function showNextQuestion(): void {
  const cards = [...document.querySelectorAll<HTMLElement>("[data-open-question]")];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  const next = cards[(at + 1) % cards.length];
  showCard(next);
}
