import type { ServerFrame } from "../../lib/pico-wire/index.ts";
import type { Cursor, SequencedEntry } from "./session-log.ts";
import { frameBytes, appendToObject, type EncodedFrame } from "./framed.ts";

const closingBrace = "}".charCodeAt(0);
const endsWithBrace = (framed: EncodedFrame): boolean =>
  typeof framed === "string" ? framed.endsWith("}") : framed[framed.length - 1] === closingBrace;

/** The frame with its place in the stream, as clients of the extension read it: two parts that follow each other. */
export function splitNumberedFrame(
  frame: Uint8Array,
  cursor: Cursor,
): readonly [head: Uint8Array, tail: string] {
  const last = frame.length - 1;
  const end = frame[last] === closingBrace ? last : frame.lastIndexOf(closingBrace);
  return [frame.subarray(0, end), positionSuffix(cursor)];
}

/** ASCII, whatever a log calls its epochs. */
const positionSuffix = ({ epoch, seq }: Cursor): string =>
  `,"epoch":${quoteEpoch(epoch)},"seq":${seq}}`;

function quoteEpoch(epoch: string): string {
  return /^[\da-z]*$/i.test(epoch)
    ? `"${epoch}"`
    : JSON.stringify(epoch).replace(/[^ -~]/g, escapeUnit);
}
const escapeUnit = (unit: string): string =>
  `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The same as a whole WebSocket message. */
export function frameWithPosition({ framed, frame, cursor }: SequencedEntry): EncodedFrame {
  if (framed !== undefined && endsWithBrace(framed))
    return appendToObject(framed, positionSuffix(cursor));
  const [head, tail] = splitNumberedFrame(frame, cursor);
  return frameBytes(Buffer.concat([head, Buffer.from(tail)]));
}

/** All who hear an entry hear it one after the other: what was made for the first serves the rest. */
export function memoizeLast<T>(make: (entry: SequencedEntry) => T): (entry: SequencedEntry) => T {
  let last: { readonly entry: SequencedEntry; readonly made: T } | undefined;
  return (entry) => {
    if (last?.entry !== entry) last = { entry, made: make(entry) };
    return last.made;
  };
}

const frameTypes = [
  "message.create",
  "message.update",
  "message.delete",
  "typing.start",
  "typing.stop",
  "error",
] as const;
const frameTypePrefixes = frameTypes.map((type) => ({
  type,
  bytes: Buffer.from(`{"type":"${type}"`),
}));

/** From the end, where they differ. */
function startsWith(frame: Uint8Array, start: Uint8Array): boolean {
  for (let at = start.length - 1; at >= 0; at--) if (frame[at] !== start[at]) return false;
  return true;
}

/** The type stands first, as `port` writes frames; another form of the log may have written them anew. */
const readFrameType = memoizeLast(({ frame }): ServerFrame["type"] => {
  for (const { type, bytes } of frameTypePrefixes) if (startsWith(frame, bytes)) return type;
  return (JSON.parse(Buffer.from(frame).toString()) as ServerFrame).type;
});
export const frameTypeOf = (entry: SequencedEntry): ServerFrame["type"] =>
  entry.type ?? readFrameType(entry);
