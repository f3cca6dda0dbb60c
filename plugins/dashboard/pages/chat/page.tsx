/** The chat: conversations with the application. @module */
import { computed, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ConversationsView } from "../../shared/conversation-views.ts";
import { counts, countedTitle } from "../frame/counts.ts";
import { addShortcuts } from "../frame/shortcuts.ts";
import { later } from "../live/later.ts";
import { onSignedIn } from "../live/owner.ts";
import { subscribe } from "../live/stream.ts";
import { Button } from "../parts/button.tsx";
import { useSite } from "../site.tsx";
import type { ChannelProblem } from "../../shared/channel-problem.ts";
import { createActs, renamed, type ConversationActs } from "./acts.ts";
import { Composer, type ComposerHandle } from "./composer.tsx";
import { showNextQuestion } from "./questions/part.ts";
import { Header, pageTitle } from "./header.tsx";
import { Hello } from "./hello.tsx";
import { List } from "./list.tsx";
import type { MessageActs } from "./message.tsx";
import { scriptMissing, type Conversation } from "./state/conversation.ts";
import { countUnread } from "./state/seen.ts";
import { ChatStore } from "./state/store.ts";
import { canEdit, type ShownFile } from "./state/thread.ts";
import { versioning } from "./state/versioning.ts";
import { ThreadView } from "./thread.tsx";

/** Data of the document. */
export interface ChatData {
  /** Name of the application, if it has one. */
  readonly name?: string;
  /** The newest conversations, if the server stores them. */
  readonly list?: ConversationsView;
  /** Why the channel rejects connections. Absent while it is on. */
  readonly channelProblem?: ChannelProblem;
  /** The application is a program that does not run. */
  readonly isApplicationDown?: boolean;
  /** Bytes of one file, if the server stores the files of messages. */
  readonly maxFileBytes?: number;
  /** Messages to begin with, if the application has its own. */
  readonly suggestions?: readonly string[];
}

const inspectorPart = later(() => import("./inspector.tsx"));
const filesPart = later(() => import("./files/dialogs.tsx"));
const renamePart = later(() => import("./rename.tsx"));

export function ChatPage({ data }: { readonly data: ChatData }): JSX.Element {
  const name = data.name ?? "Application";
  const store = useMemo(() => new ChatStore(data), []);
  const { url } = useSite();
  const acts = useMemo(() => createActs(store, url), [store]);
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
  const inspector = inspectorPart.module.value;
  const files = filesPart.module.value;
  const rename = renamePart.module.value;
  const kinds = ["chat", conversation ? "open" : "", isInspecting ? "inspecting" : ""];
  return (
    <div class={kinds.filter(Boolean).join(" ")}>
      <List store={store} acts={acts} isReady={isReady} />
      {conversation ? (
        <OpenThread {...{ store, conversation, name, acts }} suggestions={data.suggestions} />
      ) : (
        <section class="thread" aria-label="Conversation" />
      )}
      {isInspecting && inspector && <inspector.Inspector {...{ store, conversation, name }} />}
      {conversation && files && <files.FileDialogs session={conversation.session} />}
      {renamed.value && rename && (
        <rename.RenameForm store={store} {...renamed.value} close={closeRename} />
      )}
    </div>
  );
}

const closeRename = (): void => {
  renamed.value = undefined;
};

/** Keeps list and connections current while the page is open. */
function followServer(store: ChatStore): () => void {
  const { list } = store;
  void list.refresh();
  const retry = (): void => {
    store.reconnect("blocked");
  };
  const stop = subscribe({
    refresh: () => list.refresh(),
    refreshOn: ["connected", "disconnected", "rate"],
    on: {
      hello: () => {
        retry();
        void store.checkApplication();
      },
      settings: retry,
      token: retry,
      program: ({ state }) => void (store.isApplicationDown.value = state !== "running"),
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
    if (event.key !== "Escape" || event.isComposing || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const isInspecting = store.inspected.value !== undefined;
    if (!isInspecting && !conversation?.isBusy()) return;
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

interface OpenThreadProps {
  readonly store: ChatStore;
  readonly conversation: Conversation;
  readonly name: string;
  readonly acts: ConversationActs;
  readonly suggestions: readonly string[] | undefined;
}

/** The acts of messages, which stay the same for a conversation. */
function createMessageActs(
  store: ChatStore,
  conversation: Conversation,
  composer: { readonly current: ComposerHandle | null },
): MessageActs {
  return {
    edit: (message) => composer.current?.edit(message),
    takeBack: async (message) => {
      if (await conversation.takeBack(message)) composer.current?.restore(message);
    },
    sendNow: ({ requestId }) => conversation.stopBefore(requestId),
    repeat: (message) => conversation.replace(message, message.content, message.files),
    inspect: (requestId) => store.inspect(requestId),
    place: () =>
      store.summaryOf(conversation) ?? { session: conversation.session, channel: "pico" },
    reload: () => conversation.loadHistory(),
    pause: computed(() => {
      const isConnected = conversation.link.value.state === "open";
      if (!isConnected && !conversation.isReadOnly) return "connection";
      return store.isApplicationDown.value ? "application" : undefined;
    }),
    choose(versions, key) {
      const { choices } = conversation;
      choices.value = versioning.module.value!.choose(choices.value, versions, key);
    },
  };
}

/** Unread messages of the conversation when it was opened. */
function useUnread(store: ChatStore, conversation: Conversation): number {
  return useMemo(() => {
    const { items, seen } = store.list;
    const { session } = conversation;
    const summary = items.peek().find((one) => one.session === session && session !== "");
    return summary ? countUnread(seen.peek(), summary) : 0;
  }, [conversation]);
}

function OpenThread(props: OpenThreadProps): JSX.Element {
  const { store, conversation, name, acts, suggestions } = props;
  const composer = useRef<ComposerHandle>(null);
  const messageActs = useMemo(
    () => createMessageActs(store, conversation, composer),
    [conversation],
  );
  const unread = useUnread(store, conversation);
  const { isNew, seq } = store.place.value;
  const { isReadOnly, session, history } = conversation;
  const editLast = (): void => {
    if (isReadOnly) return;
    const { thread, choices } = conversation;
    const { messages } = thread.value;
    const path = versioning.module.value?.selectPath(messages, choices.value);
    const own = (path?.messages ?? messages).findLast(
      (message) => message.kind === "user" && message.sender === undefined,
    );
    if (own?.kind === "user" && canEdit(own)) messageActs.edit(own);
  };
  const sendNew = (text: string, files: readonly ShownFile[]): void => {
    conversation.send(text, files);
    if (!isReadOnly) store.confirmNew();
  };
  return (
    <section class="thread" aria-label="Conversation">
      <Header store={store} conversation={conversation} name={name} acts={acts} />
      <Connection conversation={conversation} />
      <ThreadView
        conversation={conversation}
        name={name}
        acts={messageActs}
        unread={unread}
        seq={seq}
        empty={<Hello {...{ name, suggestions }} onChoose={(text) => sendNew(text, [])} />}
      />
      <div class="dock">
        {!conversation.canWrite.value ? (
          <ReadOnly conversation={conversation} />
        ) : (
          <Composer
            conversation={conversation}
            drafts={store.drafts}
            draftName={isNew ? "new" : isReadOnly ? `stored ${history.value.id}` : session}
            isTextOnly={isReadOnly}
            maxFileBytes={store.maxFileBytes}
            name={name}
            handle={composer}
            onEditLast={editLast}
            onSend={(text, files, edited) => {
              if (edited) conversation.replace(edited, text, files);
              else sendNew(text, files);
            }}
          />
        )}
      </div>
    </section>
  );
}

/** The place of the composer in a session of a channel that does not accept messages. */
function ReadOnly({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  const { runs } = conversation.thread.value;
  return (
    <p class="read-only">
      This conversation belongs to another channel. You can read it here.
      {runs.size > 0 && (
        <Button icon="square" compact onClick={() => conversation.stop()}>
          Stop
        </Button>
      )}
    </p>
  );
}

const banner = later(() => import("./connection-banner.tsx"));

/** Tells what is wrong with the connection. */
function Connection({ conversation }: { readonly conversation: Conversation }) {
  const { state, reason } = conversation.link.value;
  const loaded = banner.module.value;
  const isWell = state === "open" || state === "idle" || (state === "connecting" && reason === "");
  if (conversation.isReadOnly || isWell) return null;
  if (loaded) return <loaded.ConnectionBanner conversation={conversation} />;
  if (reason !== scriptMissing) return null;
  return (
    <div class="banner" role="status">
      Scripts of this page could not be loaded. Trying again…
    </div>
  );
}
