/** A conversation that is open on the page: its messages, its link and its history. @module */
import { batch, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Client, LinkChange, LinkError } from "../../../../../lib/pico-link/browser.ts";
import type { ConversationsView, ConversationView } from "../../../api/conversation-views.ts";
import type { ApiError } from "../../live/api.ts";
import { serverNow } from "../../live/clock.ts";
import { requestAsOwner } from "../../live/owner.ts";
import {
  addNote,
  addSent,
  emptyThread,
  forgetOpenRuns,
  forgetReplaced,
  setDelivery,
  type ShownFile,
  type Thread,
  type UserMessage,
} from "./thread.ts";
import type { Choices } from "./versions.ts";

/** The connection of a conversation. */
export interface LinkView {
  readonly state: LinkChange["to"];
  readonly reason: string;
  /** Unix milliseconds of the next attempt. */
  readonly retryAt?: number;
}

/** The stored messages, as far as the page has loaded them. */
interface HistoryView {
  readonly state: "loading" | "ready" | "failed";
  /** Cursor of the messages before those shown; undefined if there are none. */
  readonly before?: string;
  readonly error?: ApiError;
  /** Id in the store; undefined if nothing is stored. */
  readonly id?: string;
}

export interface Conversation {
  /** Empty if the conversation can only be read. */
  readonly session: string;
  readonly isReadOnly: boolean;
  readonly thread: ReadonlySignal<Thread>;
  readonly link: ReadonlySignal<LinkView>;
  readonly history: ReadonlySignal<HistoryView>;
  /** Sends a message. Without a connection, it waits for the next one. */
  send(content: string, files: readonly ShownFile[]): void;
  /** Sends a new version of a message. A message that failed is sent instead of itself. */
  replace(message: UserMessage, content: string, files: readonly ShownFile[]): void;
  /** The versions that are shown instead of the newest ones. */
  readonly choices: Signal<Choices>;
  /** Stops all answers of the conversation. */
  stop(): void;
  showTyping(): void;
  /** Attempts to connect now. Also opens a link that was closed permanently. */
  reconnect(): void;
  loadHistory(): Promise<void>;
  loadEarlier(): Promise<void>;
  /** True while messages of this browser are under way. */
  isBusy(): boolean;
  close(): void;
}

const path = "/api/conversations";
/** The application shows the typing indicator for some seconds. */
const typingIntervalMs = 3_000;
let nextId = 0;

/** Opens a conversation. Its link and its history load in the background. */
export function openConversation(session: string): Conversation {
  const opened = new OpenConversation(session, false);
  void opened.connect();
  void opened.loadHistory();
  return opened;
}

/** Opens a conversation of another channel, which this page can only read. */
export function openStored(id: string): Conversation {
  const opened = new OpenConversation("", true);
  opened.history.value = { state: "loading", id };
  void opened.loadHistory();
  return opened;
}

type UnsentMessage = Pick<UserMessage, "content" | "files" | "replaces">;

class OpenConversation implements Conversation {
  readonly session: string;
  readonly thread = signal<Thread>(emptyThread);
  readonly link = signal<LinkView>({ state: "connecting", reason: "" });
  readonly history = signal<HistoryView>({ state: "loading" });
  readonly choices = signal<Choices>(new Map());
  readonly isReadOnly: boolean;
  private client: Client | undefined;
  /** Number of links opened so far; older ones are ignored. */
  private links = 0;
  private typedAt = 0;
  private isClosed = false;
  /** Messages without a confirmation, by request id. */
  private readonly unconfirmed = new Map<string, UnsentMessage>();
  private isLoading = false;

  constructor(session: string, isReadOnly: boolean) {
    this.session = session;
    this.isReadOnly = isReadOnly;
  }

  async connect(): Promise<void> {
    const { openLink, receive } = await import("./link.ts");
    if (this.isClosed || this.client) return;
    const number = ++this.links;
    const client = openLink(this.session, {
      onRaw: (direction, text) => this.readRaw(direction, text),
      onFrame: (frame) => this.change((thread) => receive(thread, frame, serverNow())),
      onGap: () => this.handleGap(),
      onError: ({ code, message }) => this.note(message || code),
      onState: (change) => {
        if (number === this.links) this.handleLink(change);
      },
    });
    this.client = client;
    for (const id of this.unconfirmed.keys()) this.transmit(id);
  }

  send(content: string, files: readonly ShownFile[]): void {
    this.transmitNew({ content, files });
  }

  replace(message: UserMessage, content: string, files: readonly ShownFile[]): void {
    const { key, requestId, delivery, replaces } = message;
    if (delivery !== "failed") {
      const run = this.thread.value.runs.get(requestId);
      if (run && run.endedAt === undefined) this.stop(requestId);
      return this.transmitNew({ content, files, replaces: requestId });
    }
    batch(() => {
      this.change((thread) => ({
        ...thread,
        messages: thread.messages.filter((other) => other.key !== key),
      }));
      this.transmitNew({ content, files, ...(replaces !== undefined && { replaces }) });
    });
  }

  stop(requestId?: string): void {
    this.client?.stopAnswer(requestId).catch(({ message }: LinkError) => this.note(message));
  }

  showTyping(): void {
    if (serverNow() - this.typedAt < typingIntervalMs) return;
    this.typedAt = serverNow();
    this.client?.typing(true);
  }

  reconnect(): void {
    if (this.isReadOnly) return void this.loadHistory();
    if (this.client && this.client.state() !== "stopped") return this.client.retry();
    this.client = undefined;
    this.link.value = { state: "connecting", reason: "" };
    void this.connect();
    void this.loadHistory();
  }

  isBusy(): boolean {
    const { runs } = this.thread.value;
    return this.unconfirmed.size > 0 || [...runs.values()].some((run) => !run.endedAt);
  }

  close(): void {
    this.isClosed = true;
    this.client?.stop();
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

  async loadEarlier(): Promise<void> {
    const { id, before } = this.history.value;
    if (this.isLoading || id === undefined || before === undefined) return;
    await this.loadPage(id, before);
  }

  private async loadPage(id: string, before: string | undefined): Promise<void> {
    this.isLoading = true;
    const query = new URLSearchParams(before === undefined ? {} : { before });
    const [answer, code] = await Promise.all([
      requestAsOwner<ConversationView>("GET", `${path}/${id}?${query}`),
      import("./turns.ts").catch(() => undefined),
    ]);
    this.isLoading = false;
    if (!code) return this.failHistory({ status: 0, message: "Reload the page." });
    if ("error" in answer) return this.failHistory(answer.error);
    const { turns, before: earlier } = answer.body;
    const known = this.history.value;
    // A repeated load of the newest page says nothing about the pages before it.
    const isRepeated = before === undefined && known.state === "ready" && known.id === id;
    const cursor = isRepeated ? known.before : earlier;
    batch(() => {
      this.change((thread) => code.addTurns(thread, turns));
      this.history.value = { state: "ready", id, ...(cursor !== undefined && { before: cursor }) };
    });
  }

  /** Conversations in memory have no history, which is not a failure. */
  private failHistory(error: ApiError): void {
    const { state, ...known } = this.history.value;
    const isKept =
      state === "ready" ||
      (!this.isReadOnly && error.status === 404) ||
      error.code === "not_supported";
    this.history.value = isKept ? { ...known, state: "ready" } : { state: "failed", error };
  }

  private change(make: (thread: Thread) => Thread): void {
    this.thread.value = make(this.thread.value);
  }

  private note(text: string): void {
    this.change((thread) => addNote(thread, text, serverNow()));
  }

  private transmitNew(message: UnsentMessage): void {
    const requestId = `${Date.now().toString(36)}-${++nextId}`;
    this.unconfirmed.set(requestId, message);
    batch(() => {
      this.choices.value = new Map();
      this.change((thread) => addSent(thread, { requestId, ...message, at: serverNow() }));
    });
    this.typedAt = 0;
    this.transmit(requestId);
  }

  private transmit(id: string): void {
    const message = this.unconfirmed.get(id);
    const { client } = this;
    if (!message || !client || client.state() === "stopped") return this.wait(id);
    if (client.state() !== "open") this.wait(id);
    const { content, files, replaces } = message;
    const media = files.map(({ url = "", name }) => ({ url, filename: name }));
    const replaced = replaces !== undefined && { replaces };
    client.send({ id, content, ...(media.length > 0 && { media }), ...replaced }).then(
      () => this.settle(id, "delivered"),
      ({ code, message: reason }: LinkError) => {
        // The page closed the link or the sign-in ended; the next link sends it again.
        if (code === "stopped" && client.state() === "stopped") this.wait(id);
        else {
          this.settle(id, "failed", reason);
          if (code === "unknown_turn") this.change((thread) => forgetReplaced(thread, id));
        }
      },
    );
  }

  private wait(id: string): void {
    this.change((thread) => setDelivery(thread, id, "waiting"));
  }

  private settle(id: string, delivery: "delivered" | "failed", reason?: string): void {
    this.unconfirmed.delete(id);
    this.change((thread) => setDelivery(thread, id, delivery, reason));
  }

  /** The capabilities of the server are only in its first frame. */
  private readRaw(direction: "in" | "out", text: string): void {
    if (direction === "out" || !text.startsWith('{"type":"hello"')) return;
    const canStop = /"can":\[[^\]]*"stop"/.test(text);
    this.change((thread) => ({ ...thread, canStop }));
  }

  private handleGap(): void {
    this.change(forgetOpenRuns);
    if (this.history.value.id === undefined) {
      this.note("Some messages were lost while the connection was down.");
      return;
    }
    void this.loadHistory();
  }

  private handleLink({ to, reason, retryInMs }: LinkChange): void {
    this.link.value = {
      state: to,
      reason,
      ...(retryInMs !== undefined && { retryAt: serverNow() + retryInMs }),
    };
    if (to !== "open") return;
    for (const id of this.unconfirmed.keys())
      this.change((thread) => setDelivery(thread, id, "sending"));
  }
}
