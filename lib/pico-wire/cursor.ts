import { isId } from "./json.ts";

/** A place in a session's stream. A stream that was forgotten begins again with another epoch. */
export interface Cursor {
  readonly epoch: string;
  /** Of the last numbered frame; 0 before the first. */
  readonly seq: number;
}

/** `EPOCH:SEQ`, as `resume` and the ids of server-sent events have it. */
export const formatCursor = ({ epoch, seq }: Cursor): string => `${epoch}:${seq}`;

export function parseCursor(text: string): Cursor | undefined {
  const found = /^(.+):(\d{1,15})$/s.exec(text);
  const epoch = found?.[1];
  return epoch !== undefined && isId(epoch) ? { epoch, seq: Number(found?.[2]) } : undefined;
}
