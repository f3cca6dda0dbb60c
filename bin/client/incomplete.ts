// Keeps track of replies that are not known to be complete.
import type { ChatEnd, ChatMessage } from "../../lib/pico-link/index.ts";
import type { Media } from "../../plugins/channels/index.ts";
import { toMedia } from "./text.ts";

interface BegunReply extends Pick<ChatMessage, "id" | "content"> {
  readonly media: readonly Media[];
}

export class IncompleteReplies {
  private readonly open = new Map<string, ChatMessage>();
  private hasAssumed = false;

  update(message: ChatMessage): void {
    if (message.kind !== "text") return;
    this.hasAssumed ||= message.assumed === true;
    if (message.final) this.open.delete(message.id);
    else this.open.set(message.id, message);
  }

  readonly removed = ({ id }: { readonly id: string }): void => void this.open.delete(id);

  /** True if the end of a reply was assumed. */
  assumed(): boolean {
    return this.hasAssumed;
  }

  /** The replies that have begun and not ended, with the attachments that have arrived. */
  begun(): readonly BegunReply[] {
    return [...this.open.values()].map(({ id, content, attachments }) => ({
      id,
      content,
      media: attachments.map(toMedia),
    }));
  }
}

/** Explains that the end of a reply was assumed after this silence. */
export const assumedSentence = (silenceMs: number): string =>
  "The reply may be incomplete: the server does not mark the end of a reply, " +
  `and sent nothing more for ${silenceMs / 1_000} s.`;

/** Explains that an answer ended before it was complete. */
export const endedSentence = ({ outcome, code }: Partial<ChatEnd> = {}): string =>
  outcome === "stopped"
    ? "The reply is incomplete: it was stopped."
    : `The reply is incomplete: the application failed (${code ?? "unknown"}).`;

/** Explains that the client ended before the reply did. */
export const begunSentence = "The reply is incomplete: its end did not arrive.";
