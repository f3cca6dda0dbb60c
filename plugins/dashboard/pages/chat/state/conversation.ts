/** A conversation that is open on the page: its messages, its link and its history. @module */
import { batch, signal, type Signal } from "@preact/signals";
import type {
  ConversationsView,
  ConversationSummary,
  ConversationView,
  RequestsView,
} from "../../../shared/conversation-views.ts";
import { sendRequest, type ApiError } from "../../live/api.ts";
import { serverNow } from "../../live/clock.ts";
import { onDemand } from "../../live/on-demand.ts";
import { requestAsOwner } from "../../live/owner.ts";
import {
  addNote,
  addSent,
  emptyThread,
  forgetRun,
  isInConversation,
  setDelivery,
  userKey,
  type ShownFile,
  type Thread,
  type UserMessage,
} from "./thread.ts";
import type { LinkView, Transport, TransportOwner, UnsentMessage } from "./transport.ts";
import type { ConsoleTransport, showRun as ShowRun } from "./console.ts";
import type { Choices } from "./versions.ts";

/** Without it, there is no connection; messages that are sent wait for it. */
const wire = onDemand(() => import("./wire.ts"));

/** The stored messages, as far as the page has loaded them. */
interface HistoryView {
  readonly state: "loading" | "ready" | "failed";
  /** Cursor of the messages before those shown; undefined if there are none. */
  readonly before?: string;
  readonly error?: ApiError;
  /** Id in the store; undefined if nothing is stored. */
  readonly id?: string;
  /** As the store described it with its messages. */
  readonly summary?: ConversationSummary;
}

/** A repeated load that has not met what was shown when it began. */
interface Gap {
  readonly pages: number;
  /** The cursor from before it. */
  readonly before: string | undefined;
  readonly shown: Thread;
}

/** After them, "Load earlier" continues in the gap. */
const maxGapPages = 20;

/** Key of a conversation of another channel. */
export const storedKey = (id: string): string => `stored ${id}`;

const path = "/api/conversations";
let nextId = 0;

/** A conversation that is open on the page. Its link and its history load in the background. */
export class Conversation implements TransportOwner {
  /** Unique among the conversations of the page. */
  readonly key: string;
  /** Empty if the conversation belongs to another channel. */
  readonly session: string;
  readonly thread = signal<Thread>(emptyThread);
  readonly link: Signal<LinkView>;
  readonly history: Signal<HistoryView>;
  /** The versions that are shown instead of the newest ones. */
  readonly choices = signal<Choices>(new Map());
  /** True if the conversation belongs to another channel: no message can be changed. */
  readonly isReadOnly: boolean;
  readonly unconfirmed = new Map<string, UnsentMessage>();
  /** Messages that this page has sent. */
  readonly sent = signal(0);
  /** False if the page can send no message. */
  readonly canWrite: Signal<boolean>;
  private transport: Transport | ConsoleTransport | undefined;
  private isClosed = false;
  private loading: Promise<void> | undefined;

  /**
   * @param link - State of the link until it has one of its own.
   * @param id - Id in the store, for a conversation of another channel.
   */
  constructor(session: string, link: LinkView, id?: string) {
    this.key = id === undefined ? session : storedKey(id);
    this.session = session;
    this.isReadOnly = id !== undefined;
    this.canWrite = signal(!this.isReadOnly);
    this.link = signal(link);
    this.history = signal({ state: "loading", ...(id !== undefined && { id }) });
    void this.connect();
    void this.loadHistory();
  }

  private async connect(): Promise<void> {
    const code = await wire.load();
    if (this.isClosed) return;
    this.transport = this.isReadOnly
      ? new code.ConsoleTransport(this, `${path}/${this.history.value.id}`)
      : new code.Transport(this);
  }

  /** Sends a message. Without a connection, it waits for the next one. */
  send(content: string, files: readonly ShownFile[]): void {
    this.transmitNew({ content, files });
  }

  /**
   * Sends a new version of a message, or the message again if the conversation lacks it. Without a
   * text and files, they stay the same.
   */
  replace(message: UserMessage, content = message.content, files = message.files): void {
    const { key, requestId, replaces } = message;
    if (isInConversation(message)) {
      const run = this.thread.value.runs.get(requestId);
      if (run && run.endedAt === undefined) this.stop(requestId);
      return this.transmitNew({ content, files, replaces: requestId });
    }
    batch(() => {
      this.forget(key, requestId);
      this.transmitNew({ content, files, ...(replaces !== undefined && { replaces }) });
    });
  }

  /**
   * Takes back a message that the application has not received.
   *
   * @returns False if the application was faster.
   */
  async takeBack({ requestId, key }: UserMessage): Promise<boolean> {
    const { transport } = this;
    const canWithdraw = transport !== undefined && "withdraw" in transport;
    const isRemoved = canWithdraw && (await transport.withdraw(requestId));
    if (isRemoved) this.forget(key, requestId);
    return isRemoved;
  }

  /** Stops the answers that a queued message waits for. */
  stopBefore(requestId: string): void {
    const { messages, runs } = this.thread.value;
    const at = messages.findIndex(({ key }) => key === userKey(requestId));
    const later = new Set(messages.slice(at).map(({ key }) => key));
    for (const [id, { endedAt }] of runs)
      if (endedAt === undefined && !later.has(userKey(id))) this.stop(id);
  }

  /** Removes a message that the conversation lacks. */
  private forget(key: string, requestId: string): void {
    this.change((thread) => {
      const messages = thread.messages.filter((other) => other.key !== key);
      return forgetRun({ ...thread, messages }, requestId);
    });
  }

  /** Stops the answer to a message, or all answers of the conversation. */
  stop(requestId?: string): void {
    this.transport?.stopAnswer(requestId);
  }

  showTyping(): void {
    this.transport?.showTyping();
  }

  /** Attempts to connect now. Also opens a link that was closed permanently. */
  reconnect(): void {
    if (this.isReadOnly) void this.loadHistory();
    else void this.transport?.connect();
  }

  /** True while messages of this browser are under way. */
  isBusy(): boolean {
    const { runs } = this.thread.value;
    return this.unconfirmed.size > 0 || [...runs.values()].some((run) => !run.endedAt);
  }

  /** True if the page would lose something by closing it: only it has a message that failed. */
  isNeeded(): boolean {
    const { messages } = this.thread.value;
    return (
      this.isBusy() || messages.some((one) => one.kind === "user" && one.delivery === "failed")
    );
  }

  close(): void {
    this.isClosed = true;
    this.transport?.close();
  }

  async loadHistory(): Promise<void> {
    const { id } = this.history.value;
    if (id !== undefined) return this.loadPage(id, undefined);
    const query = new URLSearchParams({ session: this.session });
    const answer = await requestAsOwner<ConversationsView>("GET", `${path}?${query}`);
    if ("error" in answer) return this.failHistory(answer.error);
    const [summary] = answer.body.conversations;
    if (summary?.session !== this.session) this.history.value = { state: "ready" };
    else await this.loadPage(summary.id, undefined);
  }

  /** @returns False if it failed. */
  async loadEarlier(): Promise<boolean> {
    await this.loading;
    const { id, before } = this.history.value;
    if (this.loading || id === undefined || before === undefined) return true;
    await this.loadPage(id, before);
    return this.history.value.before !== before;
  }

  private loadPage(id: string, before: string | undefined): Promise<void> {
    const loading = this.readPage(id, before).finally(() => {
      if (this.loading === loading) this.loading = undefined;
    });
    return (this.loading = loading);
  }

  /**
   * Loads a page of turns. A repeated load of the newest page continues with the pages before it
   * until it meets what is shown: more than one page may have been missed.
   */
  private async readPage(id: string, before: string | undefined, openGap?: Gap): Promise<void> {
    // The server repeats some of the missed messages while this waits.
    const shown = openGap?.shown ?? this.thread.value;
    const query = new URLSearchParams(before === undefined ? {} : { before });
    const isNewest = before === undefined;
    const [answer, own] = await Promise.all([
      requestAsOwner<ConversationView>("GET", `${path}/${id}?${query}`),
      isNewest && !this.isReadOnly ? this.loadTimes(this.session) : [],
    ]);
    const isOfOther = this.isReadOnly && isNewest && "body" in answer;
    // The answer names the session of another channel.
    const requests = isOfOther ? await this.loadTimes(answer.body.conversation.session) : own;
    if ("error" in answer) return this.failHistory(answer.error);
    const { addTimes, addTurns, hasTurn, showRun } = await wire.load();
    const { turns, before: earlier, conversation: summary } = answer.body;
    const known = this.history.value;
    const isRepeated = isNewest && known.state === "ready" && known.id === id;
    const gap = isRepeated ? { pages: 0, before: known.before, shown } : openGap;
    const isClosed = turns[0] === undefined || hasTurn(shown, turns[0]);
    const cursor = gap && isClosed ? gap.before : earlier;
    batch(() => {
      this.change((thread) => addTimes(addTurns(thread, turns, this.isReadOnly), requests));
      if (this.isReadOnly) this.showAccess(answer.body, showRun);
      const page = { ...(cursor !== undefined && { before: cursor }) };
      this.history.value = { state: "ready", id, summary, ...page };
    });
    if (gap && !isClosed && earlier !== undefined && gap.pages < maxGapPages)
      await this.readPage(id, earlier, { ...gap, pages: gap.pages + 1 });
  }

  private showAccess(view: ConversationView, showRun: typeof ShowRun): void {
    this.canWrite.value = view.acceptsConsole === true;
    if (this.unconfirmed.size === 0) this.change((thread) => showRun(thread, view.isBusy === true));
    if (this.transport && "follow" in this.transport) this.transport.follow(view);
  }

  /** How the latest answers went. Without it, the page shows no times. */
  private async loadTimes(session: string): Promise<RequestsView["requests"]> {
    const query = new URLSearchParams({ session });
    const answer = await sendRequest<RequestsView>("GET", `/api/requests?${query}`);
    return "body" in answer ? answer.body.requests : [];
  }

  /** Conversations in memory have no history, which is not a failure. */
  private failHistory(error: ApiError): void {
    const { state, ...known } = this.history.value;
    const isKept =
      state === "ready" ||
      (!this.isReadOnly && error.status === 404) ||
      error.code === "not_supported";
    this.history.value = isKept
      ? { ...known, state: "ready" }
      : { ...known, state: "failed", error };
  }

  change(make: (thread: Thread) => Thread): void {
    this.thread.value = make(this.thread.value);
  }

  note(text: string): void {
    this.change((thread) => addNote(thread, text, serverNow()));
  }

  private transmitNew(message: UnsentMessage): void {
    const requestId = `${Date.now().toString(36)}-${++nextId}`;
    this.unconfirmed.set(requestId, message);
    batch(() => {
      this.sent.value += 1;
      this.choices.value = new Map();
      this.change((thread) => addSent(thread, { requestId, ...message, at: serverNow() }));
    });
    if (this.transport) this.transport.transmit(requestId);
    else this.change((thread) => setDelivery(thread, requestId, "waiting"));
  }

  handleGap(): void {
    if (this.history.value.id === undefined)
      this.note("Some messages were lost while the connection was down.");
    else void this.loadHistory();
  }
}
