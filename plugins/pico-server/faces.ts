import type { ServerFrame } from "../pico-wire/index.ts";
import type { Cursor, Heard } from "./session-log.ts";

const closing = "}".charCodeAt(0);

/** The frame with its place in the stream, as clients of the extension read it. */
export function numbered(frame: Uint8Array, { epoch, seq }: Cursor): Buffer {
  const end = frame.lastIndexOf(closing);
  return Buffer.concat([frame.subarray(0, end), Buffer.from(`,"epoch":${JSON.stringify(epoch)},"seq":${seq}}`)]);
}

/** All who hear an entry hear it one after the other: what was made for the first serves the rest. */
export function oncePerEntry<T>(make: (entry: Heard) => T): (entry: Heard) => T {
  let last: { readonly entry: Heard; readonly made: T } | undefined;
  return (entry) => {
    if (last?.entry !== entry) last = { entry, made: make(entry) };
    return last.made;
  };
}

/** The type stands first, as `port` writes frames; another form of the log may have written them anew. */
function readType(frame: Uint8Array): ServerFrame["type"] {
  const text = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength);
  const [, first] = /^\{"type":"([a-z.]+)"/.exec(text.toString("latin1", 0, 40)) ?? [];
  return (first ?? (JSON.parse(text.toString()) as { type: string }).type) as ServerFrame["type"];
}
export const typeOf = oncePerEntry(({ frame }) => readType(frame));
