import { createHash } from "node:crypto";
import type { Clock } from "../../kernel/index.ts";
import type { InboundMessage, DeliveryCallbacks } from "./service.ts";

const retentionMs = 600_000;
/** Of the newest, and as many of those before them. */
const maxPerSession = 1_024;
const maxTotal = 65_536;

/** A delivery under an id. */
export interface DeliveryRecord {
  readonly digest: string;
  readonly at: number;
  isAccepted: boolean;
  /** Who sent it again and waits for the outcome of the first. */
  waiting: DeliveryCallbacks[] | undefined;
}

type MessageKey = Pick<InboundMessage, "channel" | "session" | "id">;

/** Remembers the ids a session has used: 1,024 of them or more, for ten minutes. */
export interface Dedupe {
  find(message: MessageKey): DeliveryRecord | undefined;
  isSame(deliveryRecord: DeliveryRecord, message: InboundMessage): boolean;
  remember(message: InboundMessage): DeliveryRecord;
  /** A delivery that was rejected can be tried again. */
  forget(message: MessageKey, deliveryRecord: DeliveryRecord): void;
}

/** Text shorter than a digest stands for itself. */
const maxInlineLength = 42;

/** Of what makes two messages the same: content and media, each part with its length before it. */
function digestOf({ content, media }: InboundMessage): string {
  if (media.length === 0 && content.length <= maxInlineLength) return content;
  const hash = createHash("sha256");
  const part = (bytes: string | Uint8Array): void => {
    hash
      .update(`${typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.byteLength}:`)
      .update(bytes);
  };
  part(content);
  for (const { type, url, bytes } of media) {
    part(type);
    part(url ?? "");
    part(bytes ?? "");
  }
  return hash.digest("base64url");
}

/** The older ones leave all at once: a map that loses its first key with each new one finds the next one slowly. */
interface SessionRecords {
  /** By its name. */
  readonly channel: Map<string, SessionRecords>;
  readonly name: string;
  newest: Map<string, DeliveryRecord>;
  older: Map<string, DeliveryRecord>;
  usedAt: number;
  /** Since it was last passed over. */
  isUsed: boolean;
}

export function createDedupe(clock: Clock): Dedupe {
  const channels = new Map<string, Map<string, SessionRecords>>();
  const sessions = new Set<SessionRecords>();
  const time = (): number => clock.monotonic();
  let count = 0;

  function drop(session: SessionRecords): void {
    const { channel, name, newest, older } = session;
    channel.delete(name);
    sessions.delete(session);
    count -= newest.size + older.size;
  }

  function open(of: string, name: string, now: number): SessionRecords {
    for (const session of sessions) {
      if (now - session.usedAt < retentionMs) break;
      drop(session);
    }
    const channel = channels.get(of) ?? new Map<string, SessionRecords>();
    channels.set(of, channel);
    const session = {
      channel,
      name,
      newest: new Map(),
      older: new Map(),
      usedAt: now,
      isUsed: false,
    };
    channel.set(name, session);
    sessions.add(session);
    return session;
  }

  /** From the front, those that were used meanwhile once to the end: sessions used longest ago leave first, and a use
   *  costs no more than a mark. */
  function makeRoom(): void {
    for (const session of sessions) {
      if (count <= maxTotal) return;
      if (!session.isUsed) {
        drop(session);
        continue;
      }
      session.isUsed = false;
      sessions.delete(session);
      sessions.add(session);
    }
  }

  return {
    find({ channel, session: name, id }) {
      const session = channels.get(channel)?.get(name);
      const deliveryRecord = session && (session.newest.get(id) ?? session.older.get(id));
      return deliveryRecord && time() - deliveryRecord.at < retentionMs
        ? deliveryRecord
        : undefined;
    },

    isSame: (deliveryRecord, message) => deliveryRecord.digest === digestOf(message),

    remember(message) {
      const now = time();
      const { channel, session: name, id } = message;
      const session = channels.get(channel)?.get(name) ?? open(channel, name, now);
      if (session.newest.size >= maxPerSession) {
        count -= session.older.size;
        session.older = session.newest;
        session.newest = new Map();
      }
      const { newest } = session;
      const before = newest.size;
      session.isUsed = before > 0;
      session.usedAt = now;
      const deliveryRecord: DeliveryRecord = {
        digest: digestOf(message),
        at: now,
        isAccepted: false,
        waiting: undefined,
      };
      newest.set(id, deliveryRecord);
      count += newest.size - before;
      if (count > maxTotal) makeRoom();
      return deliveryRecord;
    },

    forget({ channel, session: name, id }, deliveryRecord) {
      const session = channels.get(channel)?.get(name);
      for (const ids of session ? [session.newest, session.older] : []) {
        if (ids.get(id) === deliveryRecord && ids.delete(id)) count -= 1;
      }
    },
  };
}
