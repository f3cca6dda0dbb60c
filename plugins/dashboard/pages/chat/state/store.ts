/** State of the chat page: the list, the open conversations and the one in front. @module */
import { effect, signal, type Signal } from "@preact/signals";
import type { ConversationsView, ConversationSummary } from "../../../shared/conversation-views.ts";
import type { StatusView } from "../../../shared/views.ts";
import { base } from "../../live/base.ts";
import { requestAsOwner } from "../../live/owner.ts";
import type { ChannelProblem } from "../../../shared/channel-problem.ts";
import { Conversation, storedKey } from "./conversation.ts";
import { ConversationList } from "./list.ts";
import type { ShownFile } from "./thread.ts";
import type { LinkView } from "./transport.ts";
import { createName, isConversationName, knownNames, rememberName } from "./names.ts";

/** Where the page is. */
interface Place {
  /** Undefined if only the list is shown, as on phones at first. */
  readonly conversation?: Conversation;
  /** True until the first message of a new conversation is sent. */
  readonly isNew: boolean;
  /** Message to show, after a search. */
  readonly seq?: number | undefined;
}

/** State of a conversation of another channel, which has no link. */
const idleLink: LinkView = { state: "idle", reason: "" };

/** Conversations that keep their connection in the background. */
const maxOpen = 3;
const channel = "pico";

/** Address of a conversation, without the base path. */
export const pathOf = ({ session, channel: name, id }: ConversationTarget): string =>
  name === channel
    ? `/chat/${encodeURIComponent(session)}`
    : `/chat?${new URLSearchParams({ conversation: id ?? "" })}`;

/** A conversation to open. */
export type ConversationTarget = Pick<ConversationSummary, "session" | "channel"> & {
  readonly id?: string;
};

/** Data of the document. */
export interface ChatData {
  /** Name of the application, if it has one. */
  readonly name?: string;
  /** There is no program: an echo answers. */
  readonly isEcho?: boolean;
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

/** Key of an open conversation. */
const keyOf = ({ session, channel: name, id }: ConversationTarget): string =>
  name === channel ? session : storedKey(id ?? "");

/** The state of the page and its acts. */
export class ChatStore {
  readonly list: ConversationList;
  /** Name of the application. */
  readonly name: string;
  /** True if an echo answers. */
  readonly isEcho: boolean;
  /** Messages to begin with; undefined if the application has none. */
  readonly suggestions: readonly string[] | undefined;
  readonly place = signal<Place>({ isNew: false });
  /** Names of conversations in this browser, for servers that store none. */
  readonly names = signal<readonly string[]>([]);
  /** Request that the inspector shows; `""` is the newest one, undefined closes it. */
  readonly inspected = signal<string | undefined>(undefined);
  /** True while the application is a program that does not run. */
  readonly isApplicationDown: Signal<boolean>;
  private programEvents = 0;
  /** Bytes of one file; undefined if the server stores no files. */
  readonly maxFileBytes: number | undefined;
  private followed: { readonly id: string; readonly version: string } | undefined;
  private readonly opened = new Map<string, Conversation>();
  /** State of the links until they have their own. */
  private readonly firstLink: LinkView = { state: "connecting", reason: "" };

  constructor(initial: ChatData) {
    const { name = "Application", list, channelProblem, isApplicationDown = false } = initial;
    this.name = name;
    this.isEcho = initial.isEcho === true;
    this.suggestions = initial.suggestions;
    this.maxFileBytes = initial.maxFileBytes;
    this.list = new ConversationList(list);
    this.isApplicationDown = signal(isApplicationDown);
    if (channelProblem) this.firstLink = { state: "blocked", reason: channelProblem };
  }

  /** Describes a conversation; undefined until the server has its first message. */
  summaryOf({ session, history }: Conversation): ConversationSummary | undefined {
    const { id, summary } = history.value;
    const listed = this.list.items.value.find((one) =>
      id === undefined ? one.channel === channel && one.session === session : one.id === id,
    );
    return listed ?? summary;
  }

  /** Names a conversation, also one that the server does not have yet. */
  targetOf(conversation: Conversation): ConversationTarget {
    return this.summaryOf(conversation) ?? { session: conversation.session, channel };
  }

  /** Begins to follow the page. Call it once, in the browser. */
  start(): void {
    this.names.value = knownNames();
    effect(() => this.markRead());
    effect(() => this.followStored());
    addEventListener("popstate", () => this.openAddress());
    addEventListener("storage", () => this.list.readStorage());
    this.openAddress();
  }

  /** Opens what the address of the page names. */
  private openAddress(): void {
    const { pathname, search, hash } = location;
    const parameters = new URLSearchParams(search);
    this.inspected.value = parameters.get("inspect") ?? undefined;
    const [, name] = /\/chat\/(.+)$/.exec(pathname.slice(base().length)) ?? [];
    const id = parameters.get("conversation");
    // Links to `/chat#NAME` exist in bookmarks.
    const session = decode(name ?? hash.slice(1));
    if (name === "new") this.showNew();
    else if (id !== null && /^[\w-]{1,64}$/.test(id)) this.show({ session: "", channel: "", id });
    else if (session !== undefined) this.show({ session, channel });
    else if (matchMedia("(min-width: 48rem)").matches) this.openNewest();
    else this.place.value = { isNew: false };
  }

  open(target: ConversationTarget, seq?: number): void {
    history.pushState(null, "", base() + pathOf(target));
    this.show(target, seq);
  }

  openNew(): void {
    history.pushState(null, "", `${base()}/chat/new`);
    this.showNew();
  }

  /** Shows the list alone, on phones. */
  leave(): void {
    history.pushState(null, "", `${base()}/chat`);
    this.place.value = { isNew: false };
  }

  /** Sends a message. A new conversation has its own address from its first one on. */
  send(conversation: Conversation, text: string, files: readonly ShownFile[]): void {
    conversation.send(text, files);
    const { session, isReadOnly } = conversation;
    if (isReadOnly) return;
    rememberName(session);
    this.names.value = knownNames();
    if (!this.place.value.isNew) return;
    history.replaceState(null, "", base() + pathOf({ session, channel }));
    this.place.value = { isNew: false, conversation };
  }

  /**
   * Leaves a conversation that is deleted or archived.
   *
   * @returns True if it was in front.
   */
  close(target: ConversationTarget): boolean {
    const key = keyOf(target);
    const conversation = this.opened.get(key);
    const wasOpen = conversation !== undefined && this.place.value.conversation === conversation;
    conversation?.close();
    this.opened.delete(key);
    if (wasOpen) this.openNew();
    return wasOpen;
  }

  inspect(request: string | undefined): void {
    this.inspected.value = request;
    const url = new URL(location.href);
    if (request === undefined) url.searchParams.delete("inspect");
    else url.searchParams.set("inspect", request);
    history.replaceState(null, "", url);
  }

  /**
   * Connects open conversations again, for example after signing in.
   *
   * @param state - State of the links. @defaultValue all but `open`
   */
  reconnect(state?: LinkView["state"]): void {
    for (const conversation of this.opened.values()) {
      const { state: present } = conversation.link.value;
      if (state ? present === state : present !== "open") conversation.reconnect();
    }
  }

  /** Asks whether the program runs: the page may have missed an event. A newer event wins. */
  async checkApplication(): Promise<void> {
    const before = this.programEvents;
    const answer = await requestAsOwner<StatusView>("GET", "/api/status");
    if ("error" in answer || before !== this.programEvents) return;
    const { program } = answer.body;
    this.isApplicationDown.value = program !== undefined && program.state !== "running";
  }

  noteApplication(isDown: boolean): void {
    this.programEvents += 1;
    this.isApplicationDown.value = isDown;
  }

  private openNewest(): void {
    const newest = this.list.items.value.find(({ archived }) => !archived);
    const [name] = this.names.value;
    if (newest) {
      history.replaceState(null, "", base() + pathOf(newest));
      this.show(newest);
    } else if (name !== undefined && this.list.isStored.value === false)
      this.show({ session: name, channel });
    else this.showNew();
  }

  private show(target: ConversationTarget, seq?: number): void {
    this.place.value = { isNew: false, conversation: this.use(target), seq };
  }

  private showNew(): void {
    const conversation = this.use({ session: createName(), channel });
    this.place.value = { isNew: true, conversation };
  }

  /** Opens a conversation, and closes the least recently used idle one. */
  private use(target: ConversationTarget): Conversation {
    const { session, channel: name, id } = target;
    const key = keyOf(target);
    const conversation =
      this.opened.get(key) ??
      (name === channel
        ? new Conversation(session, this.firstLink)
        : new Conversation("", idleLink, id ?? ""));
    this.opened.delete(key);
    this.opened.set(key, conversation);
    const opened = [...this.opened.values()];
    const limit = opened.some(({ link }) => link.value.usesEvents) ? 1 : maxOpen;
    for (const [idle, other] of this.opened) {
      if (this.opened.size <= limit) break;
      // A conversation of another channel has no connection, so it takes the place of none.
      const isApart = conversation.isReadOnly && !other.isReadOnly;
      if (other === conversation || isApart || other.isNeeded()) continue;
      other.close();
      this.opened.delete(idle);
    }
    return conversation;
  }

  /** Conversations of other channels have no connection: reads those that have changed. */
  private followStored(): void {
    const { conversation } = this.place.value;
    const summary = conversation?.isReadOnly ? this.summaryOf(conversation) : undefined;
    if (!summary) return;
    const { id, usedAt, turns } = summary;
    const known = this.followed;
    this.followed = { id, version: `${usedAt} ${turns}` };
    if (known?.id === id && known.version !== this.followed.version)
      void conversation!.loadHistory();
  }

  /** The conversation in front counts as read. */
  private markRead(): void {
    const { conversation } = this.place.value;
    // The line "New messages" needs the marks until the messages are loaded.
    if (conversation?.history.value.state !== "ready" || document.hidden) return;
    const summary = this.summaryOf(conversation);
    if (summary) this.list.read(summary.id);
  }
}

/** A conversation in front, with the state of the page. */
export interface ShownConversation {
  readonly store: ChatStore;
  readonly conversation: Conversation;
}

function decode(text: string): string | undefined {
  try {
    const name = decodeURIComponent(text);
    return isConversationName(name) ? name : undefined;
  } catch {
    return undefined;
  }
}
