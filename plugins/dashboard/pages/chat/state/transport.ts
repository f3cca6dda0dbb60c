/** Carries the messages of a conversation over the channel. @module */
import type { ReadonlySignal, Signal } from "@preact/signals";
import type { Client, ChatStateChange, ChatError } from "../../../../../lib/pico-link/browser.ts";
import type { AnswerEndPayload } from "../../../../../lib/pico-wire/index.ts";
import { serverNow } from "../../live/clock.ts";
import type { ChannelProblem } from "../../../shared/channel-problem.ts";
import { channelProblem, openLink, preferEvents, rejectionWhy, usesEvents } from "./link.ts";
import { greet, receive, receiveQuestion, rejectMessage, renumber } from "./receive.ts";
import { recorder } from "./recorder.ts";
import {
  forgetOpenRuns,
  isReceived,
  patchUser,
  setDelivery,
  userMessageOf,
  type Thread,
  type UserMessage,
} from "./thread.ts";

/** The connection of a conversation. */
export interface LinkView {
  readonly state: ChatStateChange["from"];
  readonly reason: string;
  /** The problem and how to fix it, if the server knows the reason. */
  readonly why?: string;
  /** Unix milliseconds of the next attempt. */
  readonly retryAt?: number;
  /** The connection is an event stream: browsers permit six of them. */
  readonly usesEvents?: boolean;
}

export type UnsentMessage = Pick<UserMessage, "content" | "files" | "replaces">;

/** The conversation, as far as its transport uses it. */
export interface TransportOwner {
  readonly session: string;
  readonly thread: ReadonlySignal<Thread>;
  readonly link: Signal<LinkView>;
  /** Messages without a confirmation, by request id. */
  readonly unconfirmed: Map<string, UnsentMessage>;
  change(make: (thread: Thread) => Thread): void;
  note(text: string): void;
  /** Some messages were lost. */
  handleGap(): void;
  loadHistory(): Promise<void>;
}

/** Reasons that end only when the owner changes the channel. */
const offReasons: readonly ChannelProblem[] = ["no_channel", "not_found", "channel_managed"];
const isOff = (reason: string): boolean => offReasons.some((one) => one === reason);

/** Errors after which the application has received the message. */
const applicationCodes: readonly string[] = [
  "application_refused",
  "application_ended",
  "bad_answer",
  "no_answer",
  "reply_too_large",
  "internal",
  "stopped",
];

/** Reasons for a failed handshake that a proxy causes. */
const proxyReasons: readonly string[] = ["upgrade_required", "timeout"];
const maxProxyFailures = 2;

/** The application shows the typing indicator for some seconds. */
const typingIntervalMs = 3_000;

/** Keeps a conversation connected while the channel is on. */
export class Transport {
  private readonly owner: TransportOwner;
  private client: Client | undefined;
  /** Number of links opened so far; older ones are ignored. */
  private links = 0;
  private typedAt = 0;
  private isClosed = false;
  /** Handshakes in a row that a proxy may have broken. */
  private proxyFailures = 0;
  /** The attempt in progress began before a sign-in, so it fails. */
  private isOutdated = false;

  constructor(owner: TransportOwner) {
    this.owner = owner;
    void this.connect();
  }

  /** Attempts to connect now. Also opens a link that was closed permanently. */
  async connect(): Promise<void> {
    const { owner, client } = this;
    if (client && client.state() !== "closed") {
      this.isOutdated = client.state() === "connecting";
      return client.retry();
    }
    if (isOff(owner.link.value.reason)) {
      const { reason } = await channelProblem();
      if (this.isClosed || this.client !== client) return;
      if (isOff(reason)) return void (owner.link.value = { state: "blocked", reason });
    }
    owner.link.value = { state: "connecting", reason: "" };
    if (client) void owner.loadHistory();
    this.open();
  }

  private open(): void {
    const { owner } = this;
    const number = ++this.links;
    this.client = openLink(owner.session, {
      onRaw: (direction, text) => this.readRaw(direction, text),
      onFrame: (frame) => {
        owner.change((thread) => receive(thread, frame, serverNow()));
        if (frame.type === "answer.end") this.learnEnd(frame.payload);
        if (frame.type !== "error" || frame.payload.request_id !== undefined) return;
        const { code, message } = frame.payload;
        if (code !== "unknown_type") owner.note(message || code);
      },
      onQuestion: (question) => owner.change((thread) => receiveQuestion(thread, question)),
      onGap: ({ reason }) => {
        // The ends of the answers may be lost, unless the server reports what runs.
        owner.change((thread) => (thread.joinedAt === undefined ? forgetOpenRuns(thread) : thread));
        if (reason === "epoch_changed") owner.change(renumber);
        owner.handleGap();
      },
      onState: (change) => {
        if (number === this.links) this.handleLink(change);
      },
    });
    for (const id of owner.unconfirmed.keys()) this.transmit(id);
  }

  /** Sends a message of `unconfirmed`. */
  transmit(id: string): void {
    const { owner, client } = this;
    const message = owner.unconfirmed.get(id);
    if (!message || !client || client.state() === "closed") return this.wait(id);
    if (client.state() !== "open") this.wait(id);
    this.typedAt = 0;
    const { content, files, replaces } = message;
    const media = files.map(({ id: file, url = "", name }) =>
      file === undefined ? { url, filename: name } : { id: file },
    );
    const replaced = replaces !== undefined && { replaces };
    const sent = client.send({ id, content, ...(media.length > 0 && { media }), ...replaced });
    sent.accepted.then(
      () => this.settle(id, "delivered"),
      (error: ChatError) => {
        // The page closed the link or the sign-in ended; the next link sends it again.
        if (error.code === "closed") this.wait(id);
        else this.fail(id, error);
      },
    );
  }

  /** Shows an error of the application in the answer, and all others at the message. */
  private fail(id: string, { code, message }: ChatError): void {
    const { owner, client } = this;
    const at = serverNow();
    if (applicationCodes.includes(code)) {
      owner.unconfirmed.delete(id);
      return owner.change((thread) => rejectMessage(thread, id, { code, message, at }));
    }
    // The server has the message, and reports the end of the answer.
    const hasArrived = code === "expired" && client?.state() === "open";
    this.settle(id, hasArrived || this.applicationHas(id) ? "delivered" : "failed", message);
    // The server does not know the replaced message, so a second attempt must not name it.
    if (code === "unknown_turn")
      owner.change((thread) => patchUser(thread, id, { replaces: undefined }));
  }

  private applicationHas(id: string): boolean {
    const message = userMessageOf(this.owner.thread.value, id);
    return message !== undefined && isReceived(message);
  }

  /** Stops the answer to a message, or all answers. */
  stopAnswer(requestId: string | undefined): void {
    this.client?.stop(requestId).catch(({ message }: ChatError) => this.owner.note(message));
  }

  /** @returns True if the message waited and is removed: the application never receives it. */
  async withdraw(requestId: string): Promise<boolean> {
    try {
      const stopped = (await this.client?.stop(requestId)) ?? [];
      return stopped.some((one) => one.requestId === requestId && one.status === "removed");
    } catch (error) {
      this.owner.note((error as ChatError).message);
      return false;
    }
  }

  showTyping(): void {
    if (serverNow() - this.typedAt < typingIntervalMs) return;
    this.typedAt = serverNow();
    this.client?.typing(true);
  }

  close(): void {
    this.isClosed = true;
    this.client?.close();
  }

  private wait(id: string): void {
    this.owner.change((thread) => setDelivery(thread, id, "waiting"));
  }

  private settle(id: string, delivery: "delivered" | "failed", reason?: string): void {
    this.owner.unconfirmed.delete(id);
    this.owner.change((thread) => setDelivery(thread, id, delivery, reason));
  }

  /** Only the first frame lists the capabilities of the server and the running answers. */
  private readRaw(direction: "in" | "out", text: string): void {
    const { owner } = this;
    recorder.record(owner.session, direction, text);
    if (direction === "out" || !text.startsWith('{"type":"hello"')) return;
    const { payload } = JSON.parse(text) as { payload: Parameters<typeof greet>[1] };
    const before = owner.thread.value.runs;
    owner.change((thread) => greet(thread, payload, owner.unconfirmed));
    // Only the history knows how an answer of an earlier process ended.
    const { runs } = owner.thread.value;
    if ([...before].some(([id, run]) => run.endedAt === undefined && !runs.has(id)))
      void owner.loadHistory();
    for (const id of owner.unconfirmed.keys())
      owner.change((thread) => setDelivery(thread, id, "sending"));
  }

  /** Only the history knows what became of an answer to a question. */
  private learnEnd({ request_id: id, outcome }: AnswerEndPayload): void {
    if (outcome === "completed") return;
    const { messages } = this.owner.thread.value;
    const hasAsked = messages.some((one) => "asked" in one && one.asked && one.requestId === id);
    if (hasAsked) void this.owner.loadHistory();
  }

  private handleLink({ to, reason, retryInMs }: ChatStateChange): void {
    const { owner } = this;
    const why = rejectionWhy(reason);
    owner.link.value = {
      state: to,
      reason,
      ...(why !== undefined && { why }),
      ...(retryInMs !== undefined && { retryAt: serverNow() + retryInMs }),
      ...(usesEvents() && { usesEvents: true }),
    };
    if (to === "open") this.isOutdated = false;
    if (to === "connecting" || to === "open") return;
    for (const id of owner.unconfirmed.keys()) this.wait(id);
    if (to === "blocked" && isOff(reason)) {
      // A link repeats its attempts, which are in vain. The page knows when the channel is on.
      this.links++;
      return this.client?.close();
    }
    if (this.isOutdated) this.retry();
    this.proxyFailures = proxyReasons.includes(reason) ? this.proxyFailures + 1 : 0;
    if (this.proxyFailures !== maxProxyFailures || usesEvents()) return;
    preferEvents();
    this.retry();
  }

  private retry(): void {
    this.isOutdated = false;
    this.client?.retry();
  }
}
