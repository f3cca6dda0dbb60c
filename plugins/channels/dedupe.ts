/** Remembers recent message ids, so that a message sent twice reaches the application once. */
import { createHash, hash } from "node:crypto";
import type { Clock } from "../../kernel/index.ts";
import type { TakenId } from "../conversations/index.ts";
import type { Address, InboundMessage, DeliveryCallbacks } from "./contract.ts";

const retentionMs = 600_000;
/** Ids in the newer of the two maps of a session; the older one has as many. */
const maxPerSession = 1_024;
const maxTotal = 65_536;

/** The first delivery under a message id. */
export interface DeliveryRecord {
  readonly id: string;
  readonly digest: string;
  /** Milliseconds of the monotonic clock. */
  readonly at: number;
  isAccepted: boolean;
  /** True if it was stopped before the application accepted it. */
  isStopped: boolean;
  /** The message was accepted or stopped, and the store of conversations does not know it yet. */
  mustSettle: boolean;
  /** The conversation was deleted, so the store must not learn of the message any more. */
  isDiscarded: boolean;
  /** Callbacks of repeated deliveries that wait for the outcome of the first. */
  waiting: DeliveryCallbacks[] | undefined;
}

export type MessageKey = Pick<InboundMessage, "channel" | "session" | "id">;

/** Equals every message: the process ended before the store learned the digest. */
const unknownDigest = "?";

/** Covers content, results and media. Each part follows its length, so that none run together. */
function digestOf({ content, media, toolResults }: InboundMessage): string {
  const text = toolResults ? content + JSON.stringify(toolResults) : content;
  const first = `${Buffer.byteLength(text)}:${text}`;
  if (media.length === 0) return hash("sha256", first, "base64url");
  const digest = createHash("sha256").update(first);
  const addPart = (bytes: string | Uint8Array): void => {
    const length = typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.byteLength;
    digest.update(`${length}:`).update(bytes);
  };
  for (const { type, url, bytes } of media) {
    addPart(type);
    addPart(url ?? "");
    addPart(bytes ?? "");
  }
  return digest.digest("base64url");
}

/** When `newer` is full it becomes `older`, whose ids are forgotten. */
interface SessionRecords {
  /** The sessions of the same channel, by name. */
  readonly channel: Map<string, SessionRecords>;
  readonly name: string;
  /** Deliveries without an outcome, or with one that the store does not know yet. */
  readonly open: Map<string, DeliveryRecord>;
  /** Settled deliveries. */
  newer: Map<string, DeliveryRecord>;
  older: Map<string, DeliveryRecord> | undefined;
  usedAt: number;
  /** True if all ids are here that the store of conversations has kept. */
  isComplete: boolean;
  /** Messages that the conversation has from a process that ended before they were accepted. */
  begun: Set<string> | undefined;
  /** True if the session was used since `makeRoom` last skipped it. */
  isUsed: boolean;
}

const toRecord = (id: string, digest: string, at: number): DeliveryRecord => ({
  id: detach(id),
  digest,
  at,
  isAccepted: false,
  isStopped: false,
  mustSettle: false,
  isDiscarded: false,
  waiting: undefined,
});

/** A substring keeps its whole source text in memory, which may be a message. */
const detach = (id: string): string => Buffer.from(id, "utf16le").toString("utf16le");

/** Remembers at least the latest 1,024 ids of each session, for ten minutes. */
export class Dedupe {
  private readonly clock: Clock;
  private readonly channels = new Map<string, Map<string, SessionRecords>>();
  private readonly sessions = new Set<SessionRecords>();
  private count = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  find({ channel, session: name, id }: MessageKey): DeliveryRecord | undefined {
    const session = this.channels.get(channel)?.get(name);
    if (!session) return undefined;
    const { open, newer, older } = session;
    const record = open.get(id) ?? newer.get(id) ?? older?.get(id);
    return record && this.time() - record.at < retentionMs ? record : undefined;
  }

  /** Nodes of earlier versions share short texts instead of their digests, which are longer. */
  isSame({ digest }: DeliveryRecord, message: InboundMessage): boolean {
    const isShortText = digest === message.content && message.media.length === 0;
    return digest === unknownDigest || isShortText || digest === digestOf(message);
  }

  remember(message: InboundMessage): DeliveryRecord {
    const now = this.time();
    const { channel, session: name, id } = message;
    const session = this.channels.get(channel)?.get(name) ?? this.open(channel, name, now);
    const { open } = session;
    session.isUsed = open.size + session.newer.size > 0;
    session.usedAt = now;
    const record = toRecord(id, digestOf(message), now);
    const before = open.size;
    open.set(record.id, record);
    this.count += open.size - before;
    if (open.size > maxPerSession) {
      // Only deliveries that the store could not settle stay open until then.
      const [oldest] = open.values();
      this.forget(message, oldest!);
    }
    if (this.count > maxTotal) this.makeRoom();
    return record;
  }

  /** The delivery has its outcome, and the store of conversations knows it if there is one. */
  settle({ channel, session: name }: Address, record: DeliveryRecord): void {
    const session = this.channels.get(channel)?.get(name);
    if (session && this.close(session, record)) this.addSettled(session, record);
  }

  /** True if all ids of this session are known. */
  hasSession({ channel, session }: Address): boolean {
    return this.channels.get(channel)?.get(session)?.isComplete ?? false;
  }

  /** Forgets all ids of a session: the store knows them. */
  forgetSession({ channel, session }: Address): void {
    const records = this.channels.get(channel)?.get(session);
    if (records) this.drop(records);
  }

  /** Keeps the open deliveries of a session from the store: its conversation is deleted. */
  discardOpen({ channel, session }: Address): void {
    for (const record of this.channels.get(channel)?.get(session)?.open.values() ?? []) {
      record.isDiscarded = true;
      record.mustSettle = false;
    }
  }

  /**
   * Adds ids of a session that the store of conversations has kept.
   *
   * @param isComplete - These are all ids of the session.
   */
  restore({ channel, session: name }: Address, ids: readonly TakenId[], isComplete: boolean): void {
    const now = this.time();
    const session = this.channels.get(channel)?.get(name) ?? this.open(channel, name, now);
    for (const { id, digest = unknownDigest, ageMs, stopped: isStopped = false, begun } of ids)
      if (session.open.has(id)) continue;
      else if (begun) (session.begun ??= new Set()).add(id);
      else {
        const record = toRecord(id, digest, now - ageMs);
        this.addSettled(session, { ...record, isAccepted: !isStopped, isStopped });
      }
    session.isUsed = true;
    session.isComplete ||= isComplete;
    if (this.count > maxTotal) this.makeRoom();
  }

  /**
   * Call it once for each message that is delivered.
   *
   * @returns True if the conversation has it, with the answer that was cut.
   */
  takeBegun({ channel, session, id }: MessageKey): boolean {
    return this.channels.get(channel)?.get(session)?.begun?.delete(id) ?? false;
  }

  /** Forgets a rejected delivery, so that the client can send the message again. */
  forget({ channel, session: name }: Address, record: DeliveryRecord): void {
    const session = this.channels.get(channel)?.get(name);
    if (session) this.close(session, record);
  }

  /** @returns `false` if another record has the id, or none. */
  private close({ open }: SessionRecords, record: DeliveryRecord): boolean {
    if (open.get(record.id) !== record) return false;
    this.count -= 1;
    return open.delete(record.id);
  }

  private addSettled(session: SessionRecords, record: DeliveryRecord): void {
    if (session.newer.size >= maxPerSession) {
      this.count -= session.older?.size ?? 0;
      session.older = session.newer;
      session.newer = new Map();
    }
    const { newer } = session;
    const before = newer.size;
    newer.set(record.id, record);
    this.count += newer.size - before;
  }

  private time(): number {
    return this.clock.monotonic();
  }

  private open(channelName: string, name: string, now: number): SessionRecords {
    for (const session of this.sessions) {
      if (now - session.usedAt < retentionMs) break;
      this.drop(session);
    }
    const channel = this.channels.get(channelName) ?? new Map<string, SessionRecords>();
    this.channels.set(channelName, channel);
    const session: SessionRecords = {
      channel,
      name,
      open: new Map(),
      newer: new Map(),
      older: undefined,
      usedAt: now,
      isComplete: false,
      begun: undefined,
      isUsed: false,
    };
    channel.set(name, session);
    this.sessions.add(session);
    return session;
  }

  private drop(session: SessionRecords): void {
    const { channel, name, open, newer, older } = session;
    channel.delete(name);
    this.sessions.delete(session);
    this.count -= open.size + newer.size + (older?.size ?? 0);
  }

  /**
   * Drops the least recently used sessions. A used session moves to the end once, so that each use
   * costs only a flag.
   */
  private makeRoom(): void {
    for (const session of this.sessions) {
      if (this.count <= maxTotal) return;
      if (!session.isUsed) {
        this.drop(session);
        continue;
      }
      session.isUsed = false;
      this.sessions.delete(session);
      this.sessions.add(session);
    }
  }
}
