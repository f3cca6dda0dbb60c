// Encodes batches for the log, and decodes them in the worker.
import type { Address } from "../../../channels/index.ts";
import type { Batch } from "../storage.ts";
import { operations, type BatchHeader, type PackedBatch } from "./protocol.ts";
import { recordHeader } from "./record.ts";

/** Bytes of the number that begins an encoded batch: the size of its header. */
const prefix = 4;

/** @returns A batch as columns, without its frames. */
export function toColumns({ streams, entries, taken, positions }: Batch): BatchHeader {
  const addresses: Address[] = [];
  const places = new Map<string, Map<string, number>>();
  const placeOf = ({ channel, session }: Address): number => {
    let sessions = places.get(channel);
    if (sessions === undefined) places.set(channel, (sessions = new Map()));
    let place = sessions.get(session);
    if (place === undefined) {
      place = addresses.push({ channel, session }) - 1;
      sessions.set(session, place);
    }
    return place;
  };
  return {
    addresses,
    streams: streams.map((stream) => ({
      address: placeOf(stream),
      epoch: stream.epoch,
      seq: stream.seq,
    })),
    entries: {
      address: entries.map(placeOf),
      seq: entries.map(({ seq }) => seq),
      message: entries.map(({ message }) => message ?? null),
      op: entries.map(({ op }) => operations[op]),
      final: entries.map(({ final }) => Number(final)),
      at: entries.map(({ at }) => at),
      size: entries.map(({ frame }) => frame.length),
    },
    taken: taken.map((one) => ({
      address: placeOf(one),
      id: one.id,
      digest: one.digest,
      at: one.at,
      stopped: one.stopped ?? false,
    })),
    positions: positions.map((one) => ({
      address: placeOf(one),
      written: one.written,
      plain: one.plain,
      acknowledged: one.acknowledged,
      resumes: one.resumes,
    })),
  };
}

/**
 * Encodes a batch: its columns as JSON, and all frames.
 *
 * @returns A record of the log in one buffer that can be transferred. Its header is still empty.
 */
export function encodeBatch({ entries }: Batch, columns: BatchHeader): Uint8Array {
  const text = JSON.stringify(columns);
  const textBytes = Buffer.byteLength(text);
  const start = recordHeader + prefix;
  const frameBytes = columns.entries.size.reduce((sum, size) => sum + size, 0);
  const record = Buffer.allocUnsafeSlow(start + textBytes + frameBytes);
  record.writeUInt32LE(textBytes, recordHeader);
  record.write(text, start);
  let offset = start + textBytes;
  for (const { frame } of entries) {
    if (typeof frame === "string") record.write(frame, offset, "latin1");
    else record.set(frame, offset);
    offset += frame.length;
  }
  return record;
}

/** @returns The batch, whose frames are a view on `encoded`. */
export function decodeBatch(encoded: Uint8Array): PackedBatch {
  const { buffer, byteOffset, byteLength } = encoded;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  const start = prefix + bytes.readUInt32LE();
  const header = JSON.parse(bytes.toString("utf8", prefix, start)) as BatchHeader;
  return { ...header, frames: bytes.subarray(start) };
}

/** @returns The batch without the parts of these addresses; undefined if nothing is left. */
export function withoutAddresses(
  { addresses, streams, entries, taken, positions, frames }: PackedBatch,
  isRemoved: (address: Address) => boolean,
): PackedBatch | undefined {
  const removed = addresses.map(isRemoved);
  const isKept = ({ address }: { readonly address: number }): boolean => !removed[address];
  const kept = entries.address.flatMap((place, at) => (removed[place] ? [] : [at]));
  const pick = <T>(column: readonly T[]): T[] => kept.map((at) => column[at]!);
  let offset = 0;
  const parts = entries.size.map((size) => frames.subarray(offset, (offset += size)));
  const left: PackedBatch = {
    addresses,
    streams: streams.filter(isKept),
    entries: {
      address: pick(entries.address),
      seq: pick(entries.seq),
      message: pick(entries.message),
      op: pick(entries.op),
      final: pick(entries.final),
      at: pick(entries.at),
      size: pick(entries.size),
    },
    taken: taken.filter(isKept),
    positions: positions.filter(isKept),
    frames: Buffer.concat(pick(parts)),
  };
  const count = left.streams.length + kept.length + left.taken.length + left.positions.length;
  return count === 0 ? undefined : left;
}
