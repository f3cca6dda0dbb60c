// Lists, finds, reads and renames conversations.
import type { Address } from "../../../channels/index.ts";
import type { ConversationSummary, Page, Turn } from "../../service.ts";
import type { StoredFrame, StoredStream } from "../storage.ts";
import type { Connection } from "./connection.ts";
import type { Row } from "./driver.ts";
import { notFound } from "./failure.ts";
import { toLine, toPreview } from "./frames.ts";
import type { ListRequest, ReadRequest } from "./protocol.ts";
import { readPage } from "./turns.ts";
import { takenMs } from "./writer.ts";

const maxTitle = 200;
/** Bounds of the frames that a stream is continued with. */
const maxFrames = 256;
const maxFrameBytes = 512 * 1024;
const maxTaken = 1024;

export function toSummary(row: Row): ConversationSummary {
  return {
    id: String(row.public_id),
    channel: String(row.channel),
    session: String(row.session),
    title: String(row.name ?? row.title),
    renamed: row.name !== null,
    createdAt: Number(row.created_at),
    usedAt: Number(row.used_at),
    turns: Number(row.turns),
  };
}

/** @throws not_found if there is no such conversation, or nothing was ever said in it. */
export function requireRow(connection: Connection, id: string): Row {
  const row = connection.get(
    "SELECT * FROM conversation WHERE public_id = ? AND created_at IS NOT NULL",
    id,
  );
  if (row === undefined) throw notFound(`conversation with the id ${toLine(id).slice(0, 64)}`);
  return row;
}

/** @throws not_found if the cursor is malformed. */
function numbersOf(cursor: string, pattern: RegExp): number[] {
  const found = pattern.exec(cursor);
  if (found === null) throw notFound("page at this cursor");
  return found.slice(1).map(Number);
}

export function list(
  connection: Connection,
  { before, limit, query }: ListRequest,
): Page<ConversationSummary> {
  const [usedAt = Number.MAX_SAFE_INTEGER, id = 0] =
    before === undefined ? [] : numbersOf(before, /^(\d{1,15})-(\d{1,15})$/);
  const filter = query ? "AND instr(folded, ?4) > 0" : "AND ?4 IS NULL";
  const rows = connection.all(
    `SELECT * FROM conversation WHERE (used_at, id) < (?1, ?2) ` +
      `AND created_at IS NOT NULL ${filter} ORDER BY used_at DESC, id DESC LIMIT ?3`,
    usedAt,
    id,
    limit + 1,
    query ? query.toLowerCase() : null,
  );
  const items = rows
    .slice(0, limit)
    .map((row) => ({ ...toSummary(row), ...previewOf(connection, row) }));
  const last = rows[limit - 1];
  return rows.length > limit && last
    ? { items, before: `${Number(last.used_at)}-${Number(last.id)}` }
    : { items };
}

/** Turns that are searched for a text: first few, because most conversations end with one. */
const previewTurns = [2, 8];

function previewOf(connection: Connection, row: Row): Pick<ConversationSummary, "preview"> {
  for (const limit of previewTurns) {
    const range = { before: undefined, after: undefined, limit };
    const { items } = readPage(connection, Number(row.id), String(row.epoch), range);
    const preview = toPreview(items);
    if (preview !== undefined) return { preview };
  }
  return {};
}

const rowOf = (connection: Connection, { channel, session }: Address): Row | undefined =>
  connection.get("SELECT * FROM conversation WHERE channel = ? AND session = ?", channel, session);

export function find(connection: Connection, address: Address): ConversationSummary | undefined {
  const row = rowOf(connection, address);
  return row === undefined || row.created_at === null ? undefined : toSummary(row);
}

const cursor = /^[0-9A-Za-z]{0,64}:(\d{1,15})$/;

/** Numbers continue when the epoch changes, so only the number of a cursor counts. */
export function read(connection: Connection, request: ReadRequest): Page<Turn> {
  const row = requireRow(connection, request.id);
  const seqOf = (text: string | undefined) =>
    text === undefined ? undefined : numbersOf(text, cursor)[0];
  return readPage(connection, Number(row.id), String(row.epoch), {
    before: seqOf(request.before),
    after: seqOf(request.after),
    limit: request.limit,
  });
}

/** An empty title restores the one made of the first words. */
export function rename(connection: Connection, id: string, title: string): void {
  const row = requireRow(connection, id);
  const name = [...toLine(title)].slice(0, maxTitle).join("") || null;
  connection.run(
    "UPDATE conversation SET name = ?, folded = ? WHERE id = ?",
    name,
    (name ?? String(row.title)).toLowerCase(),
    Number(row.id),
  );
}

/** Reads what a session needs to continue. */
export function load(
  connection: Connection,
  { now, ...address }: Address & { readonly now: number },
): StoredStream | undefined {
  const row = rowOf(connection, address);
  if (row === undefined) return undefined;
  const taken = connection.all(
    "SELECT message, digest, at, stopped FROM taken WHERE conversation = ? AND at > ? " +
      `ORDER BY id DESC LIMIT ${maxTaken}`,
    Number(row.id),
    now - takenMs,
  );
  return {
    epoch: String(row.epoch),
    seq: Number(row.seq),
    written: Number(row.written),
    plain: Number(row.plain),
    acknowledged: Number(row.acknowledged),
    resumes: row.resumes === 1,
    frames: latestFrames(connection, Number(row.id), Number(row.seq)),
    taken: taken.reverse().map(({ message, digest, at, stopped }) => ({
      id: String(message),
      digest: String(digest),
      ageMs: Math.max(0, now - Number(at)),
      ...(stopped === 1 && { stopped: true }),
    })),
  };
}

/** The frames that end at `seq`, without a gap. */
function latestFrames(connection: Connection, conversation: number, seq: number): StoredFrame[] {
  const frames: StoredFrame[] = [];
  let bytes = 0;
  let expected = seq;
  while (frames.length < maxFrames) {
    const rows = connection.all(
      "SELECT seq, message, data FROM entry WHERE conversation = ? AND seq <= ? " +
        "ORDER BY seq DESC LIMIT 32",
      conversation,
      expected,
    );
    for (const row of rows) {
      const frame = row.data as Uint8Array;
      bytes += frame.byteLength;
      const isOver = bytes > maxFrameBytes || frames.length === maxFrames;
      if (row.seq !== expected || isOver) return frames.reverse();
      frames.push({ seq: expected, message: (row.message as string | null) ?? undefined, frame });
      expected -= 1;
    }
    if (rows.length < 32) break;
  }
  return frames.reverse();
}
