/** The title and the connection of the open conversation. @module */
import type { JSX } from "preact";
import { IconButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Menu } from "../parts/menu.tsx";
import { useSite } from "../site.tsx";
import { timeOfDay } from "../../shared/format.ts";
import { menuOf, rename } from "./acts.tsx";
import { isListOpen } from "./files/opened.ts";
import type { ConversationList } from "./state/list.ts";
import type { ShownConversation } from "./state/store.ts";
import type { LinkView } from "./state/transport.ts";
import { titleOf } from "./title.ts";

/** Badge text and tone of each link state. */
const linkStateBadges: Readonly<Record<LinkView["state"], readonly [string, string]>> = {
  idle: ["Connecting", "off"],
  connecting: ["Connecting", "off"],
  open: ["Connected", "ok"],
  waiting: ["Reconnecting…", "warn"],
  blocked: ["Disconnected", "bad"],
  closed: ["Disconnected", "bad"],
};

export function Header({ store, conversation }: ShownConversation): JSX.Element {
  const { url } = useSite();
  const title = titleOf(store, conversation);
  const { inspected, list } = store;
  const summary = store.summaryOf(conversation);
  const channel = summary ? `Channel ${summary.channel}` : "Another channel";
  const [state, tone] = !conversation.isReadOnly
    ? linkStateBadges[conversation.link.value.state]
    : conversation.canWrite.value
      ? [channel, "ok"]
      : ["Read only", "off"];
  const id = summary?.id ?? conversation.history.value.id;
  return (
    <header class="thread-head">
      <a
        class="icon-button phone-only"
        href={url("/chat")}
        aria-label="Back to conversations"
        onClick={(event) => {
          event.preventDefault();
          store.leave();
        }}
      >
        <Icon name="arrow-left" flip />
      </a>
      <div class="grow">
        <h1 class="cut" dir="auto">
          {id === undefined ? (
            title
          ) : (
            <button type="button" title="Rename" onClick={() => rename(id, title)}>
              {title}
            </button>
          )}
        </h1>
        <div class="sub">
          <span class={`row ${tone}`}>
            <i class="dot" />
            {state}
          </span>
          <span class="cut hide-phone">{store.name}</span>
          <span class="hide-phone">· {storageText(list.storage.value)}</span>
        </div>
      </div>
      {!conversation.isReadOnly && store.maxFileBytes !== undefined && (
        <IconButton
          icon="paperclip"
          label="Files of this conversation"
          onClick={() => (isListOpen.value = true)}
        />
      )}
      {!conversation.isReadOnly && (
        <IconButton
          icon="braces"
          label="Request inspector"
          aria-pressed={inspected.value !== undefined}
          onClick={() => store.inspect(inspected.value === undefined ? "" : undefined)}
        />
      )}
      {id !== undefined && (
        <Menu
          label="Conversation actions"
          items={menuOf(store, url, id, title, store.targetOf(conversation))}
        />
      )}
    </header>
  );
}

function storageText(storage: ConversationList["storage"]["value"]): string {
  if (typeof storage === "number") return `Not stored since ${timeOfDay(storage)}`;
  return { none: "Not stored", server: "Stored on this server", redis: "Stored in Redis" }[storage];
}
