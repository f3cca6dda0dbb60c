// Keeps track of replies that are not known to be complete.
import type { ChatEnd, ChatMessage } from "../../lib/pico-link/index.ts";
import type { Media } from "../../plugins/channels/index.ts";
import { toMedia } from "./text.ts";

interface Incomplete {
  update(message: ChatMessage): void;
  removed(message: { readonly id: string }): void;
  /** True if the end of a reply was assumed. */
  assumed(): boolean;
  /** The replies that have begun and not ended, with the attachments that have arrived. */
  begun(): readonly BegunReply[];
}

interface BegunReply extends Pick<ChatMessage, "id" | "content"> {
  readonly media: readonly Media[];
}

export function createIncomplete(): Incomplete {
  const open = new Map<string, ChatMessage>();
  let hasAssumed = false;
  return {
    update(message) {
      if (message.kind !== "text") return;
      hasAssumed ||= message.assumed === true;
      if (message.final) open.delete(message.id);
      else open.set(message.id, message);
    },
    removed: ({ id }) => void open.delete(id),
    assumed: () => hasAssumed,
    begun: () =>
      [...open.values()].map(({ id, content, attachments }) => ({
        id,
        content,
        media: attachments.map(toMedia),
      })),
  };
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
