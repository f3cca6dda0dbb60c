import type { ServerFrame } from "../../lib/pico-wire/index.ts";
import type { Cursor, Heard } from "./session-log.ts";
import { framedBytes, replaceEnd, type Framed } from "./framed.ts";

const closing = "}".charCodeAt(0);
const isClosed = (framed: Framed): boolean =>
  typeof framed === "string" ? framed.endsWith("}") : framed[framed.length - 1] === closing;

/** The frame with its place in the stream, as clients of the extension read it: two parts that follow each other. */
export function numbered(
  frame: Uint8Array,
  cursor: Cursor,
): readonly [head: Uint8Array, tail: string] {
  const last = frame.length - 1;
  const end = frame[last] === closing ? last : frame.lastIndexOf(closing);
  return [frame.subarray(0, end), numberOf(cursor)];
}

/** ASCII, whatever a log calls its epochs. */
const numberOf = ({ epoch, seq }: Cursor): string => `,"epoch":${quoted(epoch)},"seq":${seq}}`;

function quoted(epoch: string): string {
  return /^[\da-z]*$/i.test(epoch)
    ? `"${epoch}"`
    : JSON.stringify(epoch).replace(/[^ -~]/g, escape);
}
const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The same as a whole WebSocket message. */
export function numberedFrame({ framed, frame, cursor }: Heard): Framed {
  if (framed !== undefined && isClosed(framed)) return replaceEnd(framed, numberOf(cursor));
  const [head, tail] = numbered(frame, cursor);
  return framedBytes(Buffer.concat([head, Buffer.from(tail)]));
}

/** All who hear an entry hear it one after the other: what was made for the first serves the rest. */
export function oncePerEntry<T>(make: (entry: Heard) => T): (entry: Heard) => T {
  let last: { readonly entry: Heard; readonly made: T } | undefined;
  return (entry) => {
    if (last?.entry !== entry) last = { entry, made: make(entry) };
    return last.made;
  };
}

const types = [
  "message.create",
  "message.update",
  "message.delete",
  "typing.start",
  "typing.stop",
  "error",
] as const;
const starts = types.map((type) => ({ type, bytes: Buffer.from(`{"type":"${type}"`) }));

/** From the end, where they differ. */
function startsWith(frame: Uint8Array, start: Uint8Array): boolean {
  for (let at = start.length - 1; at >= 0; at--) if (frame[at] !== start[at]) return false;
  return true;
}

/** The type stands first, as `port` writes frames; another form of the log may have written them anew. */
const readType = oncePerEntry(({ frame }): ServerFrame["type"] => {
  for (const { type, bytes } of starts) if (startsWith(frame, bytes)) return type;
  return (JSON.parse(Buffer.from(frame).toString()) as ServerFrame).type;
});
export const typeOf = (entry: Heard): ServerFrame["type"] => entry.type ?? readType(entry);
