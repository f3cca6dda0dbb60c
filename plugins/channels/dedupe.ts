/** Remembers recent message ids, so that a message sent twice reaches the application once. */
import { createHash, hash } from "node:crypto";
import type { Clock } from "../../kernel/index.ts";
import type { TakenId } from "../conversations/index.ts";
import type { Address, InboundMessage } from "./contract.ts";
import type { DeliveryRecord, MessageKey, SessionIds } from "./session.ts";
import type { Sessions } from "./sessions.ts";

const retentionMs = 600_000;
/** Ids in the newer of the two maps of a session; the older one has as many. */
const maxPerSession = 1_024;
/** As many entries as a store looks at for messages that were begun. */
const maxBegun = 2_048;

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
  private readonly sessions: Sessions;

  constructor(clock: Clock, sessions: Sessions) {
    this.clock = clock;
    this.sessions = sessions;
  }

  find(message: MessageKey): DeliveryRecord | undefined {
    const ids = this.idsOf(message);
    if (!ids) return undefined;
    const { open, newer, older } = ids;
    const { id } = message;
    const record = open.get(id) ?? newer.get(id) ?? older?.get(id);
    return record && this.time() - record.at < retentionMs ? record : undefined;
  }

  isSame({ digest }: DeliveryRecord, message: InboundMessage): boolean {
    return digest === unknownDigest || digest === digestOf(message);
  }

  remember(message: InboundMessage): DeliveryRecord {
    const ids = this.open(message);
    const { open } = ids;
    const record = toRecord(message.id, digestOf(message), this.time());
    const before = open.size;
    open.set(record.id, record);
    if (open.size > maxPerSession) {
      // Only deliveries that the store could not settle stay open until then.
      const [oldest] = open.keys();
      open.delete(oldest!);
    }
    this.sessions.countIds(open.size - before);
    return record;
  }

  /** The delivery has its outcome, and the store of conversations knows it if there is one. */
  settle(address: Address, record: DeliveryRecord): void {
    const ids = this.idsOf(address);
    if (!ids || !this.close(ids, record)) return;
    this.endBegun(ids, record.id);
    this.sessions.countIds(this.addSettled(ids, record));
  }

  /** True if all ids of this session are known. */
  hasSession(address: Address): boolean {
    return this.idsOf(address)?.isComplete ?? false;
  }

  /** Forgets all ids of a session: the store knows them. */
  forgetSession(address: Address): void {
    const session = this.sessions.find(address);
    if (session) this.sessions.forgetIds(session);
  }

  /** Keeps the open deliveries of a session from the store: its conversation is deleted. */
  discardOpen(address: Address): void {
    for (const record of this.idsOf(address)?.open.values() ?? []) {
      record.isDiscarded = true;
      record.mustSettle = false;
    }
  }

  /**
   * Adds ids of a session that the store of conversations has kept.
   *
   * @param isComplete - These are all ids of the session.
   */
  restore(address: Address, stored: readonly TakenId[], isComplete: boolean): void {
    const now = this.time();
    const ids = this.open(address);
    let added = 0;
    for (const { id, digest = unknownDigest, ageMs, stopped: isStopped = false, begun } of stored)
      if (ids.open.has(id)) continue;
      else if (begun) added += this.addBegun(ids, id);
      else {
        const record = toRecord(id, digest, now - ageMs);
        added += this.addSettled(ids, { ...record, isAccepted: !isStopped, isStopped });
      }
    ids.isComplete ||= isComplete;
    this.sessions.countIds(added);
  }

  /** The conversation has a message whose delivery is open. */
  noteBegun(message: InboundMessage): void {
    const ids = this.idsOf(message);
    if (ids?.open.has(message.id)) this.sessions.countIds(this.addBegun(ids, message.id));
  }

  /**
   * Call it once for each message that is delivered.
   *
   * @returns True if the conversation has it, with the answer that was cut.
   */
  takeBegun(message: MessageKey): boolean {
    const ids = this.idsOf(message);
    return ids !== undefined && this.endBegun(ids, message.id);
  }

  /** Forgets a rejected delivery, so that the client can send the message again. */
  forget(address: Address, record: DeliveryRecord): void {
    const ids = this.idsOf(address);
    if (ids) this.close(ids, record);
  }

  private idsOf(address: Address): SessionIds | undefined {
    return this.sessions.find(address)?.ids;
  }

  private open(address: Address): SessionIds {
    const session = this.sessions.open(address);
    return (session.ids ??= {
      ...{ open: new Map(), newer: new Map(), older: undefined },
      ...{ isComplete: false, begun: undefined },
    });
  }

  /** @returns `false` if another record has the id, or none. */
  private close({ open }: SessionIds, record: DeliveryRecord): boolean {
    if (open.get(record.id) !== record) return false;
    this.sessions.countIds(-1);
    return open.delete(record.id);
  }

  /** @returns How many ids the session has more. */
  private addBegun(ids: SessionIds, id: string): number {
    const begun = (ids.begun ??= new Set());
    const before = begun.size;
    const [oldest] = begun.add(detach(id)).size > maxBegun ? begun : [];
    if (oldest !== undefined) begun.delete(oldest);
    return begun.size - before;
  }

  private endBegun({ begun }: SessionIds, id: string): boolean {
    if (!begun?.delete(id)) return false;
    this.sessions.countIds(-1);
    return true;
  }

  /** @returns How many ids the session has more. */
  private addSettled(ids: SessionIds, record: DeliveryRecord): number {
    const before = ids.newer.size + (ids.older?.size ?? 0);
    if (ids.newer.size >= maxPerSession) {
      ids.older = ids.newer;
      ids.newer = new Map();
    }
    ids.newer.set(record.id, record);
    return ids.newer.size + (ids.older?.size ?? 0) - before;
  }

  private time(): number {
    return this.clock.monotonic();
  }
}
