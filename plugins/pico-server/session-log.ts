import type { Awaitable, Release } from "../../kernel/index.ts";

/** A place in a session's stream. A stream that was forgotten begins again with another epoch. */
export interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}
export interface Entry {
  /** A whole frame as UTF-8, serialised once and shared by all who hear it. */
  readonly frame: Uint8Array;
  /** It must not be lost: creates, final updates, deletes. Typing and updates on the way are not numbered. */
  readonly numbered: boolean;
}
export interface Appended {
  /** Undefined while the session has no stream. */
  readonly cursor: Cursor | undefined;
  /** Listeners that heard it here. */
  readonly heard: number;
}
export type Gap =
  | { readonly reason: "overflow"; readonly from: number; readonly to: number }
  | { readonly reason: "epoch_changed" };
/** Never a partial tail: what is missing is named instead. */
export type Tail = { readonly frames: readonly Uint8Array[] } | { readonly gap: Gap };

/** Everything sent to a session passes here. Nothing outside may assume that one process holds it. */
export interface SessionLog {
  append(session: string, entry: Entry): Awaitable<Appended>;
  readAfter(session: string, cursor: Cursor): Awaitable<Tail>;
  subscribe(session: string, hear: (entry: Entry) => void): Release;
  top(session: string): Awaitable<Cursor | undefined>;
}

export interface MemoryLogOptions {
  readonly random: (bytes: number) => Uint8Array;
  /** What a stream holds for those who come back. */
  readonly window: { readonly frames: number; readonly bytes: number };
}

interface Stream {
  readonly epoch: string;
  seq: number;
  /** Ends with `seq`. */
  held: Uint8Array[];
  bytes: number;
  readonly listeners: Set<(entry: Entry) => void>;
}

/** The form for one process. A stream lives while somebody listens to it. */
export function memoryLog({ random, window }: MemoryLogOptions): SessionLog {
  const streams = new Map<string, Stream>();
  const cursor = ({ epoch, seq }: Stream): Cursor => ({ epoch, seq });

  function hold(stream: Stream, frame: Uint8Array): void {
    stream.seq += 1;
    stream.held.push(frame);
    stream.bytes += frame.byteLength;
    while (stream.held.length > window.frames || stream.bytes > window.bytes) {
      stream.bytes -= stream.held.shift()!.byteLength;
    }
  }

  function open(session: string): Stream {
    const stream: Stream = streams.get(session) ?? {
      epoch: Buffer.from(random(8)).toString("hex"), seq: 0, held: [], bytes: 0, listeners: new Set(),
    };
    streams.set(session, stream);
    return stream;
  }

  return {
    append(session, entry) {
      const stream = streams.get(session);
      if (!stream) return { cursor: undefined, heard: 0 };
      if (entry.numbered) hold(stream, entry.frame);
      for (const hear of stream.listeners) hear(entry);
      return { cursor: cursor(stream), heard: stream.listeners.size };
    },

    readAfter(session, { epoch, seq }) {
      const stream = streams.get(session);
      if (stream?.epoch !== epoch || seq > stream.seq) return { gap: { reason: "epoch_changed" } };
      const missing = stream.seq - seq;
      if (missing > stream.held.length) return { gap: { reason: "overflow", from: seq + 1, to: stream.seq } };
      return { frames: missing === 0 ? [] : stream.held.slice(-missing) };
    },

    subscribe(session, hear) {
      const stream = open(session);
      const own = (entry: Entry): void => hear(entry);
      stream.listeners.add(own);
      return () => {
        stream.listeners.delete(own);
        if (stream.listeners.size === 0 && streams.get(session) === stream) streams.delete(session);
      };
    },

    top: (session) => {
      const stream = streams.get(session);
      return stream && cursor(stream);
    },
  };
}
