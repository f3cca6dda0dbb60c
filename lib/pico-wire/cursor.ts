// Formats and parses cursors.
import { isId } from "./json.ts";

/**
 * A position in the stream of a session. A stream that the server has forgotten starts again with a
 * new epoch.
 */
export interface Cursor {
  /**
   * Epoch of the stream: at most 256 bytes without control characters; 16 hexadecimal digits from
   * this server.
   */
  readonly epoch: string;
  /** The number of the last numbered frame; 0 before the first. */
  readonly seq: number;
}

/** Formats a cursor as `EPOCH:SEQ`, which `resume` and the ids of server-sent events use. */
export const formatCursor = ({ epoch, seq }: Cursor): string => `${epoch}:${seq}`;

/** @returns Undefined if the text is not a cursor. */
export function parseCursor(text: string): Cursor | undefined {
  const found = /^(.+):(\d{1,15})$/s.exec(text);
  const epoch = found?.[1];
  return epoch !== undefined && isId(epoch) ? { epoch, seq: Number(found?.[2]) } : undefined;
}
