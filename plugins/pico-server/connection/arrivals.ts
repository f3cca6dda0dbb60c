/**
 * Estimates the memory that the unfinished message of one connection takes, from the bytes that
 * arrive.
 */

/**
 * Bytes that each separately received chunk costs in addition to its content, measured on Node 20.
 */
const pieceBytes = 1_024;
/**
 * Bytes that each fragment costs in addition to its content, garbage included, measured on Node 20.
 */
const fragmentBytes = 256;
const firstDataFrame = 8;

/**
 * Reads frame headers only. The library validates frames, but does not expose how much of an
 * unfinished message it buffers. Control frames do not count, because the library does not buffer
 * them.
 */
export class Arrivals {
  /** Estimated bytes of memory. 0 between two messages. */
  weight = 0;
  private isMessageOpen = false;
  private isData = false;
  private isFinal = false;
  private isClosed = false;
  /** Number of header bytes read, and the header length as far as it is known. */
  private headerRead = 0;
  private headerEnd = 2;
  private lengthEnd = 2;
  /** Payload bytes of the current frame that have not arrived yet. */
  private payload = 0;

  /**
   * True when the next byte starts a frame and no message has started. False after a close frame.
   */
  isBetweenMessages(): boolean {
    return !this.isMessageOpen && this.headerRead === 0 && !this.isClosed;
  }

  /** Reads the next chunk. Chunks must be passed in the order of their arrival. */
  read(chunk: Uint8Array): void {
    const { length } = chunk;
    let counted = 0;
    for (let at = 0; at < length && !this.isClosed;) {
      const start = at;
      while (at < length && this.headerRead < this.headerEnd) this.readHeader(chunk[at++]!);
      if (this.headerRead === this.headerEnd) {
        const taken = Math.min(this.payload, length - at);
        at += taken;
        this.payload -= taken;
        if (this.payload === 0) this.endFrame();
      }
      if (!this.isMessageOpen) counted = this.weight = 0;
      else if (this.isData) counted += at - start;
    }
    if (counted > 0) this.weight += counted + pieceBytes;
  }

  private readHeader(byte: number): void {
    const position = this.headerRead++;
    if (position === 0) {
      this.isFinal = byte > 127;
      this.isData = (byte & 15) < firstDataFrame;
      this.isClosed = (byte & 15) === 8;
    } else if (position === 1) {
      const size = byte & 127;
      const lengthBytes = size === 126 ? 2 : size === 127 ? 8 : 0;
      this.payload = lengthBytes === 0 ? size : 0;
      this.lengthEnd = 2 + lengthBytes;
      this.headerEnd = this.lengthEnd + (byte > 127 ? 4 : 0);
      if (!this.isData) return;
      this.isMessageOpen = true;
      this.weight += fragmentBytes;
    } else if (position < this.lengthEnd) this.payload = this.payload * 256 + byte;
  }

  private endFrame(): void {
    this.headerRead = 0;
    this.headerEnd = this.lengthEnd = 2;
    if (this.isData && this.isFinal) this.isMessageOpen = false;
  }
}

/** Shared by all connections that are between two messages: they have no state of their own. */
let idleArrivals = new Arrivals();

/**
 * Reads a chunk of one connection.
 *
 * @param own - The result of the previous call for this connection.
 * @returns The state of the connection, or undefined if it is between two messages.
 */
export function readArrivals(own: Arrivals | undefined, chunk: Uint8Array): Arrivals | undefined {
  const arrivals = own ?? idleArrivals;
  arrivals.read(chunk);
  if (arrivals.isBetweenMessages()) {
    idleArrivals = arrivals;
    return undefined;
  }
  if (arrivals === idleArrivals) idleArrivals = new Arrivals();
  return arrivals;
}
