/** The title and the connection of the open conversation. @module */
import type { JSX } from "preact";
import { second, serverNow } from "../live/clock.ts";
import { Button, IconButton, LinkButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Menu } from "../parts/menu.tsx";
import { useSite } from "../site.tsx";
import { linkClosedMessage, linkRejectedMessage, linkStateBadges } from "../text/labels.ts";
import type { ConversationActs } from "./acts.ts";
import type { Conversation, LinkView } from "./state/conversation.ts";
import type { ChatStore } from "./state/store.ts";
import type { Thread } from "./state/thread.ts";

interface HeaderProps {
  readonly store: ChatStore;
  readonly conversation: Conversation;
  /** Name of the application. */
  readonly name: string;
  readonly acts: ConversationActs;
}

const maxTitle = 60;

/** The stored title, or the first line of the first message until there is one. */
function titleOf(store: ChatStore, { session, thread, history }: Conversation): string {
  const { id } = history.value;
  const summary = store.list.items.value.find(
    (one) => one.id === id || (session !== "" && one.session === session),
  );
  if (summary) return summary.title || summary.session;
  return firstLine(thread.value) || "New conversation";
}

function firstLine({ messages }: Thread): string {
  const text = messages.find(({ kind }) => kind === "user")?.content ?? "";
  return [...(text.trim().split("\n", 1)[0] ?? "")].slice(0, maxTitle).join("");
}

export function Header({ store, conversation, name, acts }: HeaderProps): JSX.Element {
  const { url } = useSite();
  const title = titleOf(store, conversation);
  const { id } = conversation.history.value;
  const { inspected, list } = store;
  const [state, tone] = conversation.isReadOnly
    ? ["Read only", "off"]
    : linkStateBadges[conversation.link.value.state];
  const summary = list.items.value.find((one) => one.id === id);
  const target = summary ?? { session: conversation.session, channel: "pico" };
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
            <button type="button" title="Rename" onClick={() => acts.rename(id, title)}>
              {title}
            </button>
          )}
        </h1>
        <div class="sub">
          <span class={`row ${tone}`}>
            <i class="dot" />
            {state}
          </span>
          <span class="cut hide-phone">{name}</span>
          <span class="hide-phone">· {storageText(list.isStored.value)}</span>
        </div>
      </div>
      {!conversation.isReadOnly && (
        <IconButton
          icon="braces"
          label="Request inspector"
          aria-pressed={inspected.value !== undefined}
          onClick={() => store.inspect(inspected.value === undefined ? "" : undefined)}
        />
      )}
      {id !== undefined && (
        <Menu label="Conversation actions" items={acts.menu(id, title, target)} />
      )}
    </header>
  );
}

const storageText = (isStored: boolean | undefined): string =>
  isStored === false ? "Not stored" : "Stored on this server";

/** Title of the page in the browser. */
export const pageTitle = (store: ChatStore): string => {
  const { conversation } = store.place.value;
  return conversation ? titleOf(store, conversation) : "Chat";
};

/** Tells what is wrong with the connection, and offers to connect now. */
export function ConnectionBanner({ conversation }: { readonly conversation: Conversation }) {
  const { url } = useSite();
  const { state, reason, retryAt } = conversation.link.value;
  if (conversation.isReadOnly || state === "open" || state === "idle") return null;
  if (state === "connecting" && reason === "") return null;
  const isOff = reason === "not_found";
  return (
    <div class="banner" role="status">
      <Icon name="wifi-off" />
      <span class="grow">
        {bannerText({ state, reason, ...(retryAt !== undefined && { retryAt }) })}
      </span>
      {isOff && (
        <LinkButton href={url("/overview")} compact>
          Open Overview
        </LinkButton>
      )}
      <Button compact onClick={() => conversation.reconnect()}>
        Reconnect now
      </Button>
    </div>
  );
}

const kept = "Messages you send now are delivered afterwards.";

function bannerText({ state, reason, retryAt }: LinkView): JSX.Element | string {
  if (state === "stopped") return linkClosedMessage(reason);
  const explanation = linkRejectedMessage(reason);
  if (explanation !== undefined) return explanation;
  // Reading the signal draws this again each second.
  const ms = retryAt === undefined || second.value === 0 ? 0 : retryAt - serverNow();
  if (state !== "waiting" || ms < 1_000) return `Connection lost. Reconnecting… ${kept}`;
  return (
    <>
      Connection lost. Reconnecting in <span class="num">{Math.ceil(ms / 1_000)} s</span>. {kept}
    </>
  );
}
