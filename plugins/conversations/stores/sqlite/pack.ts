// Encodes batches for the worker. The table `journal` keeps them in the same form.
import type { Address } from "../../../channels/index.ts";
import type { Batch } from "../storage.ts";
import { operations, type BatchHeader, type PackedBatch } from "./protocol.ts";

/** Bytes of the number that begins an encoded batch: the size of its header. */
const prefix = 4;

/** @returns A batch in one buffer that can be transferred: its header as JSON, and all frames. */
export function encodeBatch({ streams, entries, taken, positions }: Batch): Uint8Array {
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
  const header: BatchHeader = {
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
      size: entries.map(({ frame }) => frame.byteLength),
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
  return encodeParts(
    header,
    entries.map(({ frame }) => frame),
  );
}

function encodeParts(header: BatchHeader, frames: readonly Uint8Array[]): Uint8Array {
  const text = JSON.stringify(header);
  const headerBytes = Buffer.byteLength(text);
  const frameBytes = header.entries.size.reduce((sum, size) => sum + size, 0);
  const encoded = Buffer.allocUnsafeSlow(prefix + headerBytes + frameBytes);
  encoded.writeUInt32LE(headerBytes);
  encoded.write(text, prefix);
  let offset = prefix + headerBytes;
  for (const frame of frames) {
    encoded.set(frame, offset);
    offset += frame.byteLength;
  }
  return encoded;
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
): Uint8Array | undefined {
  const removed = addresses.map(isRemoved);
  const isKept = ({ address }: { readonly address: number }): boolean => !removed[address];
  const kept = entries.address.flatMap((place, at) => (removed[place] ? [] : [at]));
  const pick = <T>(column: readonly T[]): T[] => kept.map((at) => column[at]!);
  let offset = 0;
  const parts = entries.size.map((size) => frames.subarray(offset, (offset += size)));
  const header: BatchHeader = {
    addresses: addresses.map((address, at) =>
      removed[at] ? { channel: "", session: "" } : address,
    ),
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
  };
  const left = header.streams.length + kept.length + header.taken.length + header.positions.length;
  return left === 0 ? undefined : encodeParts(header, pick(parts));
}
