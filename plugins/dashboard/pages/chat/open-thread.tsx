/** The open conversation: its header, its messages and the field for a new one. @module */
import { computed } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { onDemand } from "../live/on-demand.ts";
import { Button } from "../parts/button.tsx";
import type { ConversationActs } from "./acts.tsx";
import { Composer, type ComposerHandle } from "./composer.tsx";
import { Header } from "./header.tsx";
import { Hello } from "./hello.tsx";
import { Log } from "./log.tsx";
import type { MessageActs } from "./message.tsx";
import type { Conversation } from "./state/conversation.ts";
import { countUnread } from "./state/seen.ts";
import type { ChatStore } from "./state/store.ts";
import { canEdit, type ShownFile } from "./state/thread.ts";
import { choose, selectPath } from "./state/versions.ts";

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
    suggest(text) {
      conversation.send(text, []);
      composer.current?.focus();
    },
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
      choices.value = choose(choices.value, versions, key);
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

export function OpenThread(props: OpenThreadProps): JSX.Element {
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
    const own = selectPath(messages, choices.value).messages.findLast(
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
      <Log
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

/** Loaded with each conversation: without a connection, it would be too late. */
const useBanner = onDemand(() => import("./connection-banner.tsx"));

/** Tells what is wrong with the connection. */
function Connection({ conversation }: { readonly conversation: Conversation }) {
  const { state, reason } = conversation.link.value;
  const isWell = state === "open" || state === "idle" || (state === "connecting" && reason === "");
  const banner = useBanner();
  if (conversation.isReadOnly || isWell || !banner) return null;
  return <banner.ConnectionBanner conversation={conversation} />;
}
