// A conversation storage in memory, as simple as the contract allows. Serves as the model of the
// durable forms and as a fake for the log above them.
import type { Address } from "../../plugins/channels/index.ts";
import type {
  ConversationSummary,
  Page,
  StoreHealth,
  Turn,
} from "../../plugins/conversations/service.ts";
import { exportConversation } from "../../plugins/conversations/stores/sqlite/document.ts";
import { storeErrors } from "../../plugins/conversations/stores/sqlite/errors.ts";
import { toPreview, toTitle, toTurn } from "../../plugins/conversations/stores/sqlite/frames.ts";
import type {
  Batch,
  ConversationStorage,
  NewEntry,
  StoredStream,
  StreamPositions,
} from "../../plugins/conversations/stores/storage.ts";

interface Kept extends Address {
  readonly id: string;
  epoch: string;
  seq: number;
  positions: StreamPositions;
  entries: NewEntry[];
  taken: { id: string; digest: string; at: number; stopped: boolean }[];
  name: string | undefined;
}

const keyOf = ({ channel, session }: Address): string => `${channel}\0${session}`;
const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** The turns of entries, by their definition: every entry is applied in order. */
export function foldTurns(entries: readonly NewEntry[]): Turn[] {
  let open: { first: NewEntry; latest: NewEntry }[] = [];
  for (const entry of entries) {
    const { op, message } = entry;
    const isSame = ({ first }: { first: NewEntry }) =>
      message !== undefined && first.message === message;
    if (op === "delete") open = open.filter((one) => !isSame(one));
    if (op === "user") open.push({ first: entry, latest: entry });
    if (op !== "create" && op !== "update") continue;
    const grown = open.find((one) => one.first.op !== "user" && isSame(one));
    if (grown) grown.latest = entry;
    else open.push({ first: entry, latest: entry });
  }
  return open.flatMap(({ first, latest }) => {
    const { seq, message, at, op } = first;
    const { final } = latest;
    const frame = bytesOf(latest);
    return toTurn({ seq, message, isUser: op === "user", final, at, frame }) ?? [];
  });
}

/** @returns The frame of an entry as a store reads it again. */
export const bytesOf = ({ frame }: Pick<NewEntry, "frame">): Uint8Array =>
  typeof frame === "string" ? Buffer.from(frame, "latin1") : frame;

/** A storage that keeps everything until it is forgotten. Batches fail while `fails` is set. */
export class FakeStorage implements ConversationStorage {
  /** The reason with which batches are rejected. */
  fails: string | undefined;
  readonly batches: Batch[] = [];
  private readonly now: () => number;
  private readonly kept = new Map<string, Kept>();
  private ids = 0;

  constructor(now: () => number = () => 0) {
    this.now = now;
  }

  async commit(batch: Batch): Promise<void> {
    if (this.fails !== undefined) throw storeErrors.store_unavailable("memory", this.fails);
    this.batches.push(batch);
    for (const stream of batch.streams) {
      const { epoch, seq } = stream;
      Object.assign(this.kept.get(keyOf(stream)) ?? this.create(stream), { epoch, seq });
    }
    for (const entry of batch.entries) {
      const one = this.kept.get(keyOf(entry)) ?? this.create(entry);
      one.entries.push(entry);
      one.seq = entry.seq;
    }
    for (const { id, digest, at, stopped = false, ...address } of batch.taken) {
      const { taken } = this.kept.get(keyOf(address)) ?? this.create(address);
      taken.push({ id, digest, at, stopped });
    }
    for (const { channel, session, ...positions } of batch.positions) {
      const one = this.kept.get(keyOf({ channel, session }));
      if (one) one.positions = positions;
    }
  }

  async load(address: Address): Promise<StoredStream | undefined> {
    const one = this.kept.get(keyOf(address));
    if (one === undefined) return undefined;
    let bytes = 0;
    const frames = [];
    for (let seq = one.seq; frames.length < 256; seq--) {
      const entry = one.entries.findLast((each) => each.seq === seq);
      bytes += entry?.frame.length ?? 0;
      if (entry === undefined || bytes > 512 * 1024) break;
      frames.unshift({ seq, message: entry.message, frame: bytesOf(entry) });
    }
    const taken = one.taken
      .map(({ id, digest, at, stopped }) => ({
        id,
        digest,
        ageMs: Math.max(0, this.now() - at),
        ...(stopped && { stopped }),
      }))
      .filter(({ ageMs }) => ageMs < 600_000)
      .slice(-1024);
    return { epoch: one.epoch, seq: one.seq, ...one.positions, frames, taken };
  }

  async list(
    options: { readonly before?: string; readonly limit?: number; readonly query?: string } = {},
  ): Promise<Page<ConversationSummary>> {
    const { before, limit = 50, query = "" } = options;
    const all = [...this.kept.values()]
      .filter(({ entries }) => entries.length > 0)
      .map((one) => this.listed(one))
      .filter(({ title }) => title.toLowerCase().includes(query.toLowerCase()))
      .toSorted((a, b) => b.usedAt - a.usedAt || b.id.localeCompare(a.id));
    const start = before === undefined ? 0 : all.findIndex(({ id }) => id === before) + 1;
    const items = all.slice(start, start + limit);
    const last = items.at(-1);
    return start + limit < all.length && last ? { items, before: last.id } : { items };
  }

  async find(address: Address): Promise<ConversationSummary | undefined> {
    const one = this.kept.get(keyOf(address));
    return one && one.entries.length > 0 ? this.summary(one) : undefined;
  }

  async get(id: string): Promise<ConversationSummary> {
    return this.summary(this.require(id));
  }

  async read(
    id: string,
    options: { readonly before?: string; readonly after?: string; readonly limit?: number } = {},
  ): Promise<Page<Turn>> {
    const { before, after, limit = 50 } = options;
    const one = this.require(id);
    const turns = foldTurns(one.entries);
    const seqOf = (cursor: string) => Number(cursor.split(":")[1]);
    const items =
      before === undefined && after !== undefined
        ? turns.filter(({ seq }) => seq > seqOf(after)).slice(0, limit)
        : turns.filter(({ seq }) => before === undefined || seq < seqOf(before)).slice(-limit);
    const first = items[0];
    const hasMore = first !== undefined && turns.some(({ seq }) => seq < first.seq);
    return hasMore ? { items, before: `${one.epoch}:${first.seq}` } : { items };
  }

  async search(text: string, { limit = 20 }: { readonly limit?: number } = {}) {
    const wanted = wordsOf(text);
    const hits = [...this.kept.values()].flatMap((one) =>
      foldTurns(one.entries)
        .filter(({ complete, content }) => {
          const words = new Set(wordsOf(content));
          return complete !== false && wanted.length > 0 && wanted.every((word) => words.has(word));
        })
        .map((turn) => ({
          conversation: this.summary(one),
          turn,
          excerpt: turn.content.slice(0, 200),
        })),
    );
    return hits.slice(0, limit);
  }

  async rename(id: string, title: string): Promise<void> {
    this.require(id).name = title.trim() || undefined;
  }

  async forget(id: string): Promise<void> {
    this.kept.delete(keyOf(this.require(id)));
  }

  export(id: string, format: "json" | "markdown"): AsyncIterable<string> {
    return exportConversation(this, id, format);
  }

  async retain(
    { keepDays }: { readonly keepDays: number; readonly maxBytes: number },
    isLive: (address: Address) => boolean,
  ): Promise<number> {
    const old = [...this.kept.values()].filter(
      (one) =>
        keepDays > 0 &&
        one.entries.length > 0 &&
        this.summary(one).usedAt < this.now() - keepDays * 86_400_000 &&
        !isLive(one),
    );
    for (const one of old) this.kept.delete(keyOf(one));
    return old.length;
  }

  health(): StoreHealth {
    const { length } = [...this.kept.values()].filter(({ entries }) => entries.length > 0);
    return {
      kind: "memory",
      state: this.fails === undefined ? "up" : "away",
      since: 0,
      conversations: length,
      waitingBytes: 0,
      searches: true,
    };
  }

  async close(): Promise<void> {}

  private create({ channel, session }: Address): Kept {
    const one: Kept = {
      channel,
      session,
      id: `conversation-${String(++this.ids).padStart(6, "0")}`,
      epoch: this.ids.toString(16).padStart(16, "0"),
      seq: 0,
      positions: { written: 0, plain: 0, acknowledged: 0, resumes: false },
      entries: [],
      taken: [],
      name: undefined,
    };
    this.kept.set(keyOf(one), one);
    return one;
  }

  private require(id: string): Kept {
    const one = [...this.kept.values()].find((each) => each.id === id && each.entries.length > 0);
    if (one === undefined) throw storeErrors.not_found(`conversation with the id ${id}`);
    return one;
  }

  private listed(one: Kept): ConversationSummary {
    const preview = toPreview(foldTurns(one.entries).slice(-8));
    return { ...this.summary(one), ...(preview !== undefined && { preview }) };
  }

  private summary({ id, channel, session, entries, name }: Kept): ConversationSummary {
    const turns = foldTurns(entries);
    const titled = turns.filter(({ content }) => toTitle(content) !== "");
    const first = titled.find(({ role }) => role === "user") ?? titled[0];
    return {
      id,
      channel,
      session,
      title: name ?? (first ? toTitle(first.content) : ""),
      renamed: name !== undefined,
      createdAt: entries[0]!.at,
      usedAt: Math.max(...entries.map(({ at }) => at)),
      turns: turns.length,
    };
  }
}
