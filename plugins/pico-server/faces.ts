import type { ServerFrame } from "../pico-wire/index.ts";
import type { Cursor, Heard } from "./session-log.ts";
import { framedText, frameFor } from "./sink.ts";

const closing = "}".charCodeAt(0);

/** The frame with its place in the stream, as clients of the extension read it: two parts that follow each other. */
export function numbered(frame: Uint8Array, cursor: Cursor): readonly [head: Uint8Array, tail: string] {
  const last = frame.length - 1;
  const end = frame[last] === closing ? last : frame.lastIndexOf(closing);
  return [frame.subarray(0, end), numberOf(cursor)];
}

/** ASCII, whatever a log calls its epochs. */
const numberOf = ({ epoch, seq }: Cursor): string => `,"epoch":${quoted(epoch)},"seq":${seq}}`;

function quoted(epoch: string): string {
  return /^[\da-z]*$/i.test(epoch) ? `"${epoch}"` : JSON.stringify(epoch).replace(/[^ -~]/g, escape);
}
const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The same as a whole WebSocket message. */
export function numberedFrame(entry: Heard): Buffer {
  const { framed } = entry;
  const last = framed ? framed.length - 1 : 0;
  if (!framed || framed[last] !== closing) {
    const [head, tail] = numbered(entry.frame, entry.cursor);
    return framedText(Buffer.from(head).toString() + tail);
  }
  const lead = leadOf(framed);
  const tail = numberOf(entry.cursor);
  const whole = frameFor(last - lead + tail.length);
  framed.copy(whole, whole.length - tail.length - (last - lead), lead, last);
  whole.write(tail, whole.length - tail.length, "latin1");
  return whole;
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
  "message.create", "message.update", "message.delete", "typing.start", "typing.stop", "error",
] as const;
const starts = types.map((type) => ({ type, bytes: Buffer.from(`{"type":"${type}"`) }));

/** Where the JSON begins in a whole WebSocket message of a server. */
const leadOf = (framed: Uint8Array): number => (framed[1]! < 126 ? 2 : framed[1] === 126 ? 4 : 10);

/** From the end, where they differ. */
function startsWith(frame: Uint8Array, lead: number, start: Uint8Array): boolean {
  for (let at = start.length - 1; at >= 0; at--) if (frame[lead + at] !== start[at]) return false;
  return true;
}

/** The type stands first, as `port` writes frames; another form of the log may have written them anew. */
function readType({ frame }: Heard): ServerFrame["type"] {
  return (JSON.parse(Buffer.from(frame).toString()) as ServerFrame).type;
}
export const typeOf = oncePerEntry((entry) => {
  const bytes = entry.framed ?? entry.frame;
  const lead = entry.framed ? leadOf(bytes) : 0;
  for (const { type, bytes: start } of starts) if (startsWith(bytes, lead, start)) return type;
  return readType(entry);
});
