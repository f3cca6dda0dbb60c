// Packs batches for the worker.
import type { Address } from "../../../channels/index.ts";
import type { Batch } from "../storage.ts";
import { operations, type PackedBatch } from "./protocol.ts";

/** @returns The batch with copies of its frames in one buffer that can be transferred. */
export function packBatch({ streams, entries, taken, positions }: Batch): PackedBatch {
  const addresses: Address[] = [];
  const places = new Map<string, number>();
  const placeOf = ({ channel, session }: Address): number => {
    const key = `${channel}\0${session}`;
    let place = places.get(key);
    if (place === undefined) {
      place = addresses.push({ channel, session }) - 1;
      places.set(key, place);
    }
    return place;
  };
  const size = entries.map(({ frame }) => frame.byteLength);
  const frames = new Uint8Array(size.reduce((sum, bytes) => sum + bytes, 0));
  let offset = 0;
  for (const { frame } of entries) {
    frames.set(frame, offset);
    offset += frame.byteLength;
  }
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
      message: entries.map(({ message }) => message),
      op: entries.map(({ op }) => operations[op]),
      final: entries.map(({ final }) => Number(final)),
      at: entries.map(({ at }) => at),
      size,
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
    frames,
  };
}
