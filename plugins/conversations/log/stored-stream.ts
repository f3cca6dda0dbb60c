// A stream as a store keeps it, to be continued by the session log in memory.

/** One numbered frame, as it was sent. */
interface StoredFrame {
  /** Number of the frame in its stream, from 1. */
  readonly seq: number;
  /** Id of the message; undefined for frames without one. */
  readonly message: string | undefined;
  /** A complete Pico server frame: a JSON object in UTF-8, without its `seq` and `epoch`. */
  readonly frame: Uint8Array;
}

/** How far the readers of a stream have got. All are numbers of its epoch. */
export interface StreamPositions {
  /** Some client was sent everything up to this number. */
  readonly written: number;
  /** A client without acknowledgements was sent everything up to this number. */
  readonly plain: number;
  /** A client has acknowledged everything up to this number, except the numbers in a gap. */
  readonly acknowledged: number;
  /** True if a client may return with a cursor. */
  readonly resumes: boolean;
}

/** A stream as it was left. */
export interface StoredStream extends StreamPositions {
  /** 16 hexadecimal digits. */
  readonly epoch: string;
  /** Number of the last frame; 0 for an empty stream. */
  readonly seq: number;
  /** The last frames without a hole, ending at `seq`: at most 256 and 512 KiB. */
  readonly frames: readonly StoredFrame[];
}
