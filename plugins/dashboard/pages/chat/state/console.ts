/** Writes into a session of another channel, and reads its answers. @module */
import type { ConversationView, SentView } from "../../../shared/conversation-views.ts";
import { serverNow } from "../../live/clock.ts";
import { requestAsOwner } from "../../live/owner.ts";
import { beginRun, forgetOpenRuns, setDelivery, type Thread } from "./thread.ts";
import type { TransportOwner } from "./transport.ts";

/** Between two reads while an answer grows, and before a message is sent again. */
const pauseMs = 1_000;

/** Shows that an answer runs, at the last message of a person. */
export function showRun(thread: Thread, isBusy: boolean): Thread {
  const shown = { ...thread, canStop: true };
  if (!isBusy) return forgetOpenRuns(shown);
  const question = thread.messages.findLast(({ kind }) => kind === "user");
  return question?.kind === "user" ? beginRun(shown, question.requestId, question.at, true) : shown;
}

/** Has the calls of `Transport` that the page makes. */
export class ConsoleTransport {
  private readonly owner: TransportOwner;
  private readonly path: string;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;

  /** @param path - Address of the conversation in the API. */
  constructor(owner: TransportOwner, path: string) {
    this.owner = owner;
    this.path = path;
    for (const id of owner.unconfirmed.keys()) this.transmit(id);
  }

  /** Sends a message of `unconfirmed`. The server counts a repeated one once. */
  transmit(id: string): void {
    void this.send(id);
  }

  stopAnswer(): void {
    void requestAsOwner("POST", `${this.path}/stop`).then(() => this.owner.loadHistory());
  }

  showTyping(): void {
    // Other channels do not learn that the owner types.
  }

  async connect(): Promise<void> {
    await this.owner.loadHistory();
  }

  /** The conversation was read: reads it again while an answer runs. */
  follow({ isBusy }: Pick<ConversationView, "isBusy">): void {
    clearTimeout(this.timer);
    if (isBusy && !this.isClosed)
      this.timer = setTimeout(() => void this.owner.loadHistory(), pauseMs);
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private async send(id: string): Promise<void> {
    const { owner } = this;
    const message = owner.unconfirmed.get(id);
    if (!message || this.isClosed) return;
    const body = { id, content: message.content };
    const answer = await requestAsOwner<SentView>("POST", `${this.path}/messages`, body);
    if ("error" in answer && answer.error.status === 0) {
      owner.change((thread) => setDelivery(thread, id, "waiting"));
      setTimeout(() => void this.send(id), pauseMs);
      return;
    }
    owner.unconfirmed.delete(id);
    if ("error" in answer) {
      const { message: reason } = answer.error;
      return owner.change((thread) => setDelivery(thread, id, "failed", reason));
    }
    owner.change((thread) => beginRun(thread, id, serverNow(), true));
    owner.change((thread) => setDelivery(thread, id, "received"));
    await owner.loadHistory();
  }
}
