// The number of a turn, as a frame for clients of the extension that do not know turns.
import { encode, type UserTurnFrame } from "../../../lib/pico-wire/index.ts";
import type { SequencedEntry } from "../../conversations/index.ts";
import { frameText, type EncodedFrame } from "../frame-encoding.ts";

/**
 * Encodes a frame with the number of the turn, for clients of the extension that do not know turns:
 * it removes a message that they do not have.
 */
export function encodePlaceholder(entry: SequencedEntry): EncodedFrame {
  return frameText(encode({ ...placeholderOf(entry), ...entry.cursor }));
}

/** Encodes the same frame for an event, whose id is the number. */
export function placeholderText(entry: SequencedEntry): string {
  return encode(placeholderOf(entry));
}

function placeholderOf({ frame, session }: SequencedEntry) {
  const turn = JSON.parse(Buffer.from(frame).toString()) as UserTurnFrame;
  const payload = { message_id: turn.payload.message_id };
  return { type: "message.delete", payload, session_id: session } as const;
}
