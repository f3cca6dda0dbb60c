// Keeps conversations in maps and checks the contract of its caller.
import { bytesOf } from "./fake-storage.ts";
import type { Address } from "../../plugins/channels/index.ts";
import {
  conversationsErrors,
  type ConversationSummary,
  type TakenId,
  type Turn,
} from "../../plugins/conversations/index.ts";
import type {
  Batch,
  ConversationStorage,
  NewEntry,
  StoredStream,
  StreamPositions,
} from "../../plugins/conversations/stores/storage.ts";

const windowFrames = 256;

interface FakeStream {
  readonly epoch: string;
  seq: number;
  readonly entries: NewEntry[];
  readonly taken: TakenId[];
  positions: StreamPositions;
}

const noPositions: StreamPositions = { written: 0, plain: 0, acknowledged: 0, resumes: false };
const keyOf = ({ channel, session }: Address): string => `${channel}\0${session}`;

/** The maps outlive the storage, as a file does. */
export type FakeFile = Map<string, FakeStream>;

function write(file: FakeFile, { streams, entries, taken, positions }: Batch): void {
  for (const { epoch, seq, ...address } of streams) {
    if (file.get(keyOf(address))?.epoch === epoch) throw new Error("The stream exists already");
    file.set(keyOf(address), { epoch, seq, entries: [], taken: [], positions: noPositions });
  }
  const find = (address: Address): FakeStream => {
    const stream = file.get(keyOf(address));
    if (!stream) throw new Error(`No stream for ${address.session}`);
    return stream;
  };
  for (const entry of entries) {
    const stream = find(entry);
    if (entry.seq !== stream.seq + 1) throw new Error(`Number ${entry.seq} after ${stream.seq}`);
    stream.seq = entry.seq;
    stream.entries.push(entry);
  }
  for (const { id, digest, stopped = false, ...address } of taken)
    find(address).taken.push({ id, digest, ageMs: 0, ...(stopped && { stopped }) });
  for (const { written, plain, acknowledged, resumes, ...address } of positions) {
    const stream = find(address);
    if (Math.max(written, plain, acknowledged) > stream.seq) throw new Error("Position too high");
    stream.positions = { written, plain, acknowledged, resumes };
  }
}

function summaryOf(id: string): ConversationSummary {
  const [channel = "", session = ""] = id.split("\0");
  const summary = { title: "", renamed: false, createdAt: 0, usedAt: 0, turns: 0 };
  return { id, channel, session, ...summary };
}

function turnOf({ seq, at, frame }: NewEntry): Turn {
  const text = typeof frame === "string" ? frame : new TextDecoder().decode(frame);
  const { payload } = JSON.parse(text) as {
    payload: { message_id: string; request_id: string; content: string };
  };
  const { message_id: id, request_id: requestId, content } = payload;
  return { id, requestId, content, seq, at, role: "user" };
}

const unsupported = (): Promise<never> => Promise.reject(conversationsErrors.not_supported("list"));

export function createFakeStorage(file: FakeFile = new Map()): ConversationStorage {
  return {
    async load(address): Promise<StoredStream | undefined> {
      const stream = file.get(keyOf(address));
      if (!stream) return undefined;
      const { epoch, seq, taken, positions } = stream;
      const frames = stream.entries
        .slice(-windowFrames)
        .map((entry) => ({ ...entry, frame: bytesOf(entry) }));
      return { epoch, seq, frames, taken: [...taken], ...positions };
    },
    async commit(batch) {
      write(file, batch);
    },
    async retain(_, isLive) {
      let count = 0;
      for (const key of file.keys()) {
        const [channel = "", session = ""] = key.split("\0");
        if (isLive({ channel, session })) continue;
        file.delete(key);
        count += 1;
      }
      return count;
    },
    health: () => ({
      kind: "sqlite",
      state: "up",
      since: 0,
      conversations: file.size,
      waitingBytes: 0,
      searches: false,
    }),
    close: () => Promise.resolve(),
    list: unsupported,
    async find(address) {
      const id = keyOf(address);
      return file.has(id) ? summaryOf(id) : undefined;
    },
    async get(id) {
      if (!file.has(id)) throw conversationsErrors.not_found();
      return summaryOf(id);
    },
    async read(id) {
      const entries = file.get(id)?.entries.filter(({ op }) => op === "user") ?? [];
      return { items: entries.map(turnOf) };
    },
    search: unsupported,
    rename: unsupported,
    async forget(id) {
      file.delete(id);
    },
    export: () => ({ [Symbol.asyncIterator]: () => ({ next: unsupported }) }),
  };
}
