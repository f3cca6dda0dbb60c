// The last numbers of streams, so that a batch with other numbers never enters the log.
import type { Address } from "../../../channels/index.ts";
import type { BatchHeader } from "./protocol.ts";

/** Streams whose numbers are known. Others are not checked. */
const maxStreams = 20_000;

const keyOf = ({ channel, session }: Address): string => `${channel}\0${session}`;

export class StreamHeads {
  private heads = new Map<string, number>();

  set(address: Address, seq: number): void {
    if (this.heads.size >= maxStreams) this.heads = new Map();
    this.heads.set(keyOf(address), seq);
  }

  delete(address: Address): void {
    this.heads.delete(keyOf(address));
  }

  /**
   * Numbers that are used already must not be stored, because their rows could not be written.
   *
   * @returns The last numbers of the streams after the batch.
   */
  check({ addresses, streams, entries }: BatchHeader): readonly (number | undefined)[] {
    const heads = addresses.map((address) => this.heads.get(keyOf(address)));
    for (const { address, seq } of streams) {
      const head = heads[address] ?? 0;
      if (seq < head) throw new Error(`the stream begins at ${seq}, below its end ${head}`);
      heads[address] = seq;
    }
    for (const [at, seq] of entries.seq.entries()) {
      const place = entries.address[at]!;
      const head = heads[place] ?? 0;
      if (seq <= head) throw new Error(`number ${seq} follows ${head} in its stream`);
      heads[place] = seq;
    }
    return heads;
  }
}
