// The frames that a stream keeps for replay.
import { SequenceBuffer } from "./sequence.ts";
import type { LogEntry } from "./session-log.ts";

/** Longer frames stay strings: few of them fit the window. */
const maxCopiedBytes = 4_096;
const minSlabBytes = 1_024;

/** @returns The bytes of the entry. */
export const sizeOf = (entry: LogEntry): number =>
  entry.framed?.length ?? entry.bytes ?? entry.frame.byteLength;

/**
 * Numbered frames. All but the newest are copied into one slab of bytes: as strings, they would
 * live just long enough for the garbage collector to copy them twice and then to need a full
 * collection. The newest stays as it is, because clients without acknowledgements need no other.
 */
export class FrameWindow {
  /** Entries, and the lengths of the frames in the slab. */
  private readonly items: SequenceBuffer<LogEntry | number>;
  private slab: Buffer | undefined = undefined;
  private slabStart = 0;
  private slabEnd = 0;

  /** @param first - The number of the first frame. */
  constructor(first = 1) {
    this.items = new SequenceBuffer(first);
  }

  get length(): number {
    return this.items.length;
  }

  /** The lowest number in the window. */
  get first(): number {
    return this.items.first;
  }

  push(entry: LogEntry): void {
    const { items } = this;
    const newest = items.length > 0 ? items.at(items.next - 1) : undefined;
    if (typeof newest === "object") this.copy(newest, items.next - 1);
    items.push(entry);
  }

  /** Removes the oldest frame. @returns Its bytes. */
  shift(): number {
    const item = this.items.shift();
    if (item === undefined) return 0;
    if (typeof item === "number") this.slabStart += item;
    if (this.items.length === 0) this.slab = undefined;
    return typeof item === "number" ? item : sizeOf(item);
  }

  /** True if this frame is the message of a client. */
  isTurn(number: number): boolean {
    const item = this.items.at(number);
    return typeof item === "object" && item.type === "message.user";
  }

  /** True if a frame is the message of a client with this id. */
  hasRequest(request: string): boolean {
    return this.items
      .from(this.first)
      .some((item) => typeof item === "object" && item.request === request);
  }

  /** @returns The frames from this number on, without their headers. */
  from(number: number): Uint8Array[] {
    const frames: Uint8Array[] = [];
    const { items } = this;
    let at = this.slabStart;
    for (let next = items.first; next < items.next; next++) {
      const item = items.at(next)!;
      if (next >= number) frames.push(typeof item === "object" ? item.frame : this.read(at, item));
      if (typeof item === "number") at += item;
    }
    return frames;
  }

  private copy(entry: LogEntry, number: number): void {
    const { framed, request } = entry;
    if (typeof framed !== "string" || framed.length > maxCopiedBytes) return;
    if (request !== undefined || entry.type === "message.user") return;
    this.reserve(framed.length).write(framed, this.slabEnd, "latin1");
    this.slabEnd += framed.length;
    this.items.replace(number, framed.length);
  }

  /** @returns The slab, with this much room at its end. */
  private reserve(bytes: number): Buffer {
    const { slab } = this;
    if (!slab) this.slabStart = this.slabEnd = 0;
    const { slabStart, slabEnd } = this;
    if (slab && slabEnd + bytes <= slab.length) return slab;
    const used = slabEnd - slabStart;
    const needed = Math.max(minSlabBytes, (used + bytes) * 2);
    const next = slab && needed <= slab.length ? slab : Buffer.allocUnsafeSlow(powerOfTwo(needed));
    slab?.copy(next, 0, slabStart, slabEnd);
    this.slabStart = 0;
    this.slabEnd = used;
    return (this.slab = next);
  }

  /** A copy, because later frames overwrite the slab. */
  private read(at: number, length: number): Buffer {
    const headerBytes = this.slab![at + 1]! < 126 ? 2 : 4;
    return Buffer.from(this.slab!.subarray(at + headerBytes, at + length));
  }
}

const powerOfTwo = (bytes: number): number => 2 ** Math.ceil(Math.log2(bytes));
