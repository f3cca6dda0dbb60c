// Finds the turns of a conversation among its entries.
import type { Page, Turn } from "../../service.ts";
import type { Connection } from "./connection.ts";
import type { Row } from "./driver.ts";
import { toTurn } from "./frames.ts";
import { operations } from "./protocol.ts";

/*
 * An entry begins a turn if no later entry deletes its message, and
 * - it is an entry of the person, or
 * - it creates or updates a message, and the entry before it of that message is its deletion, or
 *   there is none.
 * The text of a turn is that of the latest entry of its message.
 */

const { user, create, update } = operations;
const columns = "id, seq, message, op, final, at";

/** Number of entries that are read together. */
const chunk = 64;
/** A page ends after this many characters, because turns may contain images. */
const maxPageLength = 4 * 1024 * 1024;

const lengthOf = ({ content, attachments = [], toolCalls = [] }: Turn): number =>
  attachments.reduce(
    (sum, { url = "" }) => sum + url.length,
    content.length + (toolCalls.length > 0 ? JSON.stringify(toolCalls).length : 0),
  );

/** An entry that begins a turn. */
export interface Beginning {
  readonly id: number;
  readonly seq: number;
  readonly message: string | null;
  readonly op: number;
  readonly final: number;
  readonly at: number;
}

const beginningOf = (row: Row): Beginning => row as unknown as Beginning;

/** @returns Whether a later entry deletes the message of this one. */
function isDeleted(connection: Connection, conversation: number, entry: Beginning): boolean {
  if (entry.message === null) return false;
  return (
    connection.get(
      "SELECT 1 FROM entry WHERE conversation = ? AND message = ? AND seq > ? AND op = 4 LIMIT 1",
      conversation,
      entry.message,
      entry.seq,
    ) !== undefined
  );
}

/** @returns The operation of the application's latest entry for this message before `seq`. */
export function operationBefore(
  connection: Connection,
  conversation: number,
  message: string,
  seq: number,
): number | undefined {
  const found = connection.get(
    "SELECT op FROM entry WHERE conversation = ? AND message = ? AND seq < ? AND op > 1 " +
      "ORDER BY seq DESC LIMIT 1",
    conversation,
    message,
    seq,
  );
  return found === undefined ? undefined : Number(found.op);
}

export const opensTurn = (before: number | undefined): boolean =>
  before !== create && before !== update;

function isBeginning(connection: Connection, conversation: number, entry: Beginning): boolean {
  if (isDeleted(connection, conversation, entry)) return false;
  if (entry.op === user || entry.message === null) return true;
  return opensTurn(operationBefore(connection, conversation, entry.message, entry.seq));
}

/** Assembles the turn of an entry that begins it. */
function turnOf(connection: Connection, conversation: number, entry: Beginning): Turn | undefined {
  const latest =
    entry.op === user || entry.message === null
      ? connection.get("SELECT data, final FROM entry WHERE id = ?", entry.id)
      : connection.get(
          "SELECT data, final FROM entry WHERE id = (SELECT id FROM entry WHERE conversation = ? " +
            "AND message = ? AND seq >= ? AND op IN (2, 3) ORDER BY seq DESC LIMIT 1)",
          conversation,
          entry.message,
          entry.seq,
        );
  if (latest === undefined) return undefined;
  return toTurn({
    seq: entry.seq,
    message: entry.message ?? undefined,
    isUser: entry.op === user,
    final: latest.final === 1,
    at: entry.at,
    frame: latest.data as Uint8Array,
  });
}

/**
 * Reads turns in one direction, starting next to `from`, which is not included. Large turns end
 * the page before the limit.
 *
 * @returns The turns in the order of reading.
 */
export function readTurns(
  connection: Connection,
  conversation: number,
  { from, isForward, limit }: { from: number; isForward: boolean; limit: number },
): Turn[] {
  const turns: Turn[] = [];
  const [comparison, order] = isForward ? [">", "ASC"] : ["<", "DESC"];
  const sql =
    `SELECT ${columns} FROM entry WHERE conversation = ? AND seq ${comparison} ? ` +
    `AND op BETWEEN 1 AND 3 ORDER BY seq ${order} LIMIT ${chunk}`;
  let at = from;
  let length = 0;
  while (turns.length < limit) {
    const entries = connection.all(sql, conversation, at).map(beginningOf);
    for (const entry of entries) {
      at = entry.seq;
      if (!isBeginning(connection, conversation, entry)) continue;
      const turn = turnOf(connection, conversation, entry);
      if (turn === undefined) continue;
      turns.push(turn);
      length += lengthOf(turn);
      if (turns.length === limit || length > maxPageLength) return turns;
    }
    if (entries.length < chunk) break;
  }
  return turns;
}

const firstOfTurn =
  "FROM entry WHERE conversation = ?1 AND message = ?2 AND op IN (2, 3) " +
  "AND seq > coalesce((SELECT max(seq) FROM entry WHERE conversation = ?1 AND message = ?2 " +
  "AND op = 4), -1) ORDER BY seq LIMIT 1";

/** The number of the entry that begins the turn of this message of the application. */
export const turnSeq = (connection: Connection, conversation: number, message: string): number =>
  connection.number(`SELECT seq ${firstOfTurn}`, conversation, message);

/** The turn to which an entry belongs; undefined if its message was deleted. */
export function turnAt(
  connection: Connection,
  conversation: number,
  entry: Beginning,
): Turn | undefined {
  if (isDeleted(connection, conversation, entry)) return undefined;
  if (entry.op === user || entry.message === null) return turnOf(connection, conversation, entry);
  const first = connection.get(`SELECT ${columns} ${firstOfTurn}`, conversation, entry.message);
  return first && turnOf(connection, conversation, beginningOf(first));
}

/** Where a page begins. At most one of `before` and `after` is used; `before` wins. */
interface PageRequest {
  readonly before: number | undefined;
  readonly after: number | undefined;
  readonly limit: number;
}

/** Reads a page of turns, oldest first. */
export function readPage(
  connection: Connection,
  conversation: number,
  epoch: string,
  { before, after, limit }: PageRequest,
): Page<Turn> {
  const isForward = before === undefined && after !== undefined;
  const from = before ?? after ?? Number.MAX_SAFE_INTEGER;
  const items = readTurns(connection, conversation, { from, isForward, limit });
  if (!isForward) items.reverse();
  const first = items[0];
  if (first === undefined) return { items };
  const older = { from: first.seq, isForward: false, limit: 1 };
  const hasMore = readTurns(connection, conversation, older).length > 0;
  return hasMore ? { items, before: `${epoch}:${first.seq}` } : { items };
}
