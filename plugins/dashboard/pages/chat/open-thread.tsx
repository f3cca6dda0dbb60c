/** The open conversation: its header, its messages and the field for a new one. @module */
import { computed } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Composer } from "./composer.tsx";
import { ConnectionBanner } from "./connection-banner.tsx";
import { Header } from "./header.tsx";
import { Log } from "./log.tsx";
import type { RowContext } from "./message.tsx";
import type { Conversation } from "./state/conversation.ts";
import type { ShownConversation } from "./state/store.ts";

export function OpenThread({ store, conversation }: ShownConversation): JSX.Element {
  const context = useMemo((): RowContext => {
    const pause = computed(() => {
      const isConnected = conversation.link.value.state === "open";
      if (!isConnected && !conversation.isReadOnly) return "connection";
      return store.isApplicationDown.value ? "application" : undefined;
    });
    return { store, conversation, pause };
  }, [conversation]);
  return (
    <section class="thread" aria-label="Conversation">
      <Header store={store} conversation={conversation} />
      <ConnectionBanner conversation={conversation} />
      <Log context={context} />
      <div class="dock">
        {!conversation.canWrite.value ? (
          <ReadOnly conversation={conversation} />
        ) : (
          <Composer store={store} conversation={conversation} />
        )}
      </div>
    </section>
  );
}

/** The place of the composer in a session of a channel that does not accept messages. */
function ReadOnly({ conversation }: { readonly conversation: Conversation }): JSX.Element {
  return (
    <p class="read-only">
      This conversation belongs to another channel. You can read it here.
      {conversation.isBusy() && (
        <Button icon="square" compact onClick={() => conversation.stop()}>
          Stop
        </Button>
      )}
    </p>
  );
}
