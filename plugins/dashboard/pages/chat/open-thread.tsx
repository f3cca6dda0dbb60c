/** The open conversation: its header, its messages and the field for a new one. @module */
import { computed } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { onDemand } from "../live/on-demand.ts";
import { Button } from "../parts/button.tsx";
import { Icon, Mark } from "../parts/icon.tsx";
import { Composer, type ComposerHandle } from "./composer.tsx";
import { Header } from "./header.tsx";
import { Log } from "./log.tsx";
import type { RowContext } from "./message.tsx";
import type { Conversation } from "./state/conversation.ts";
import type { ChatStore, ShownConversation } from "./state/store.ts";
import { canEdit, type ShownFile } from "./state/thread.ts";
import { selectPath } from "./state/versions.ts";

export function OpenThread({ store, conversation }: ShownConversation): JSX.Element {
  const composer = useRef<ComposerHandle>(null);
  const context = useMemo((): RowContext => {
    const pause = computed(() => {
      const isConnected = conversation.link.value.state === "open";
      if (!isConnected && !conversation.isReadOnly) return "connection";
      return store.isApplicationDown.value ? "application" : undefined;
    });
    return { store, conversation, composer, pause };
  }, [conversation]);
  const { isReadOnly } = conversation;
  const editLast = (): void => {
    if (isReadOnly) return;
    const { thread, choices } = conversation;
    const { messages } = thread.value;
    const own = selectPath(messages, choices.value).messages.findLast(
      (message) => message.kind === "user" && message.sender === undefined,
    );
    if (own?.kind === "user" && canEdit(own)) composer.current?.edit(own);
  };
  const sendNew = (text: string, files: readonly ShownFile[]): void => {
    conversation.send(text, files);
    if (!isReadOnly) store.confirmNew();
  };
  return (
    <section class="thread" aria-label="Conversation">
      <Header store={store} conversation={conversation} />
      <Connection conversation={conversation} />
      <Log
        context={context}
        empty={<Hello store={store} onChoose={(text) => sendNew(text, [])} />}
      />
      <div class="dock">
        {!conversation.canWrite.value ? (
          <ReadOnly conversation={conversation} />
        ) : (
          <Composer
            conversation={conversation}
            store={store}
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

interface HelloProps {
  readonly store: ChatStore;
  /** Sends a suggestion. */
  readonly onChoose: (text: string) => void;
}

interface Suggestion {
  readonly icon: string;
  readonly title: string;
  /** Explains the suggestion. */
  readonly text?: string;
}

/** Messages to begin with, unless the application has its own. */
const usual: readonly Suggestion[] = [
  { icon: "sparkles", title: "What can you do?", text: "Ask what it can help with" },
  { icon: "message-square", title: "Say hello", text: "See how it answers" },
];

/** Drawn in a conversation without messages. */
function Hello({ store, onChoose }: HelloProps): JSX.Element {
  const { name, suggestions } = store;
  const own = suggestions?.map((title): Suggestion => ({ icon: "message-square", title }));
  return (
    <div class="hello">
      <span class="arch">
        <Mark size={44} />
      </span>
      <div>
        <h2>Talk to {name === "Application" ? "your application" : name}</h2>
        <p>Messages go straight to your application. Answers appear while they are written.</p>
      </div>
      <div class="ideas">
        {(own ?? usual).map(({ icon, title, text }) => (
          <button key={title} type="button" class="idea" onClick={() => onChoose(title)}>
            <Icon name={icon} />
            <b>{title}</b>
            {text !== undefined && <span>{text}</span>}
          </button>
        ))}
      </div>
    </div>
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
