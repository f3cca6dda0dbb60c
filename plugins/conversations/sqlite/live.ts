// A conversation in use, its new entries, and how its row reads.
import type { Address } from "../contract.ts";
import type { LogEntry } from "../log/session-log.ts";
import type { StreamPositions } from "../log/stream.ts";
import type { Row } from "./driver.ts";

/** The parts of an entry that the store writes. Only complete texts are indexed for search. */
export type NewEntry = Pick<
  LogEntry,
  "type" | "message" | "final" | "request" | "answers" | "question" | "frame"
>;

/** A message that was accepted, or that its client stopped before that. */
export interface Taken {
  /** Null if only its complete answer tells that it was accepted. */
  readonly digest: string | null;
  readonly isStopped: boolean;
}

/** Returns the latest frame of each message that grows, by its id. */
export type Growth = Map<string, () => Uint8Array>;

/** The entry of a person's message, and whether the application has accepted it. */
interface KnownRequest {
  readonly entry: number;
  isTaken: boolean;
}

/** A conversation in use. `committed` to `turns` summarize its stored entries. */
export interface Live extends Address {
  /** 0 until its row is written. */
  id: number;
  readonly publicId: string;
  epoch: string;
  /** The last number, of waiting entries too. */
  seq: number;
  committed: number;
  last: number;
  title: string;
  titleTurn: number;
  createdAt: number;
  usedAt: number;
  /** Time of the last entry on the clock of retention; 0 until it is saved. */
  aged: number;
  turns: number;
  positions: StreamPositions;
  /** The `seq` of the entry that opened the turn of each message that is not complete. */
  readonly open: Map<string, number>;
  /** The latest messages of persons, by the ids that their clients gave them. */
  readonly requests: Map<string, KnownRequest>;
  /** Messages with a row in `growing`. */
  readonly grown: Set<string>;
  /** Writes that have no outcome yet. */
  writes: number;
}

export const addressOf = ({ channel, session }: Row): Address => ({
  channel: String(channel),
  session: String(session),
});

const noPositions: StreamPositions = { written: 0, plain: 0, acknowledged: 0, resumes: false };

/** A conversation without a row. */
export const emptyLive = ({ channel, session }: Address): Live => ({
  id: 0,
  publicId: "",
  channel,
  session,
  epoch: "",
  seq: 0,
  committed: 0,
  last: 0,
  title: "",
  titleTurn: 0,
  createdAt: 0,
  usedAt: 0,
  aged: 0,
  turns: 0,
  positions: noPositions,
  open: new Map(),
  requests: new Map(),
  grown: new Set(),
  writes: 0,
});

/** The part of a conversation that its row stores. */
export const summaryOf = (row: Row): Partial<Live> => ({
  id: Number(row.id),
  publicId: String(row.public_id),
  epoch: String(row.epoch),
  committed: Number(row.seq),
  last: Number(row.last),
  title: String(row.title),
  titleTurn: Number(row.title_turn),
  createdAt: Number(row.created_at),
  usedAt: Number(row.used_at),
  aged: Number(row.aged),
  turns: Number(row.turns),
  positions: {
    written: Number(row.written),
    plain: Number(row.plain),
    acknowledged: Number(row.acknowledged),
    resumes: row.resumes === 1,
  },
});
