import type { ServerFrame } from "../pico-wire/index.ts";
import type { Cursor, Heard } from "./session-log.ts";

const closing = "}".charCodeAt(0);

/** The frame with its place in the stream, as clients of the extension read it: two parts that follow each other. */
export function numbered(frame: Uint8Array, { epoch, seq }: Cursor): readonly [head: Uint8Array, tail: string] {
  const end = frame.lastIndexOf(closing);
  return [frame.subarray(0, end), `,"epoch":${JSON.stringify(epoch)},"seq":${seq}}`];
}

/** All who hear an entry hear it one after the other: what was made for the first serves the rest. */
export function oncePerEntry<T>(make: (entry: Heard) => T): (entry: Heard) => T {
  let last: { readonly entry: Heard; readonly made: T } | undefined;
  return (entry) => {
    if (last?.entry !== entry) last = { entry, made: make(entry) };
    return last.made;
  };
}

const types = ["message.create", "message.update", "message.delete", "typing.start", "typing.stop"] as const;
const starts = types.map((type) => ({ type, bytes: Buffer.from(`{"type":"${type}"`) }));

/** From the end, where they differ. */
function startsWith(frame: Uint8Array, start: Uint8Array): boolean {
  for (let at = start.length - 1; at >= 0; at--) if (frame[at] !== start[at]) return false;
  return true;
}

/** The type stands first, as `port` writes frames; another form of the log may have written them anew. */
function readType(frame: Uint8Array): ServerFrame["type"] {
  for (const { type, bytes } of starts) if (startsWith(frame, bytes)) return type;
  return (JSON.parse(Buffer.from(frame).toString()) as ServerFrame).type;
}
export const typeOf = oncePerEntry(({ frame }) => readType(frame));
