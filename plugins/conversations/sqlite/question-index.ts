// The index of open questions and undelivered answers: rows of `meta`, written with their entries.
import type { Address } from "../messages.ts";
import { toStoredQuestion, type QuestionMark, type StoredQuestion } from "../question-frames.ts";
import { payloadOf } from "../turn-frames.ts";
import type { Connection } from "./driver.ts";
import { addressOf } from "./live.ts";
import { getMeta, setMeta } from "./recovery.ts";

/** The value of a row: `seq` of the entry that asks, and of the one that settles. */
interface IndexedQuestion {
  readonly asked: number;
  readonly settled?: number;
  readonly durable?: string | undefined;
}

/** Start of the id of the message that delivers the answer to a durable question. */
const answerPrefix = "answer:";

const keyOf = (conversation: number, message: string): string =>
  `question:${conversation}:${message}`;
/** The row with `seq` of the latest entry that ends a lost question. */
const lostKeyOf = (conversation: number): string => `lost:${conversation}`;
/** Bounds of the keys of all questions, or of those of one conversation. */
const boundsOf = (conversation?: number): readonly [string, string] =>
  conversation === undefined
    ? ["question:", "question;"]
    : [`question:${conversation}:`, `question:${conversation};`];

export class QuestionIndex {
  private readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /** Notes an entry that asks or settles. Call it in the transaction of the entry. */
  note(conversation: number, message: string, seq: number, mark: QuestionMark): void {
    const key = keyOf(conversation, message);
    if (mark.isQuiet === true) setMeta(this.connection, lostKeyOf(conversation), String(seq));
    if (mark.state === "settled") return this.remove(key);
    const durable = mark.durable === undefined ? {} : { durable: mark.durable };
    const row: IndexedQuestion =
      mark.state === "open"
        ? { asked: seq, ...durable }
        : { asked: this.read(key)?.asked ?? seq, settled: seq, ...durable };
    setMeta(this.connection, key, JSON.stringify(row));
  }

  /** The application has accepted a message, or a client stopped it: it may deliver an answer. */
  taken(conversation: number, request: string): void {
    if (request.startsWith(answerPrefix))
      this.remove(keyOf(conversation, request.slice(answerPrefix.length)));
  }

  /** The conversation is being deleted. */
  forget(conversation: number): void {
    const sql = "DELETE FROM meta WHERE key >= ? AND key < ?";
    this.connection.run(sql, ...boundsOf(conversation));
    this.remove(lostKeyOf(conversation));
  }

  /** Sessions whose latest lost question was settled at that time or later. */
  lostSince(since: number): Address[] {
    const sql = "SELECT key, value FROM meta WHERE key >= 'lost:' AND key < 'lost;'";
    return this.connection.all(sql).flatMap(({ key, value }) => {
      const conversation = Number(String(key).slice("lost:".length));
      const entry = this.entry(conversation, Number(value));
      if (!entry || entry.at < since) return [];
      const own = this.connection.get("SELECT * FROM conversation WHERE id = ?", conversation);
      return own ? [addressOf(own)] : [];
    });
  }

  /** True if the question is settled, and no application has accepted its answer. */
  isUndelivered(conversation: number, message: string): boolean {
    return this.read(keyOf(conversation, message))?.settled !== undefined;
  }

  /** Conversations with an open question or an undelivered answer. */
  conversations(): number[] {
    return [...new Set(this.rows().map(({ conversation }) => conversation))];
  }

  /** Lists the questions, oldest first: of all conversations, or of one session. */
  list(address?: Address): StoredQuestion[] {
    const found: { readonly id: number; readonly question: StoredQuestion }[] = [];
    for (const { conversation, message, row } of this.rows()) {
      const owner = this.connection.get("SELECT * FROM conversation WHERE id = ?", conversation);
      if (owner === undefined) continue;
      const own = addressOf(owner);
      if (address && (address.channel !== own.channel || address.session !== own.session)) continue;
      const asked = this.entry(conversation, row.asked);
      const settled = row.settled === undefined ? undefined : this.entry(conversation, row.settled);
      if (!asked) continue;
      const question = toStoredQuestion({
        ...own,
        id: message,
        at: asked.at,
        durable: row.durable,
        asked: asked.payload,
        settled: settled?.payload,
      });
      if (question) found.push({ id: (settled ?? asked).id, question });
    }
    return found.toSorted((one, other) => one.id - other.id).map(({ question }) => question);
  }

  private entry(conversation: number, seq: number) {
    const sql = "SELECT id, at, frame FROM entry WHERE conversation = ? AND seq = ?";
    const found = this.connection.get(sql, conversation, seq);
    if (found === undefined) return undefined;
    const payload = payloadOf(found.frame as Uint8Array);
    return { id: Number(found.id), at: Number(found.at), payload };
  }

  private rows() {
    const sql = "SELECT key, value FROM meta WHERE key >= ? AND key < ?";
    return this.connection.all(sql, ...boundsOf()).map(({ key, value }) => {
      const [, conversation = "", message = ""] = String(key).split(":");
      const row = JSON.parse(String(value)) as IndexedQuestion;
      return { conversation: Number(conversation), message, row };
    });
  }

  private read(key: string): IndexedQuestion | undefined {
    const value = getMeta(this.connection, key);
    return value === undefined ? undefined : (JSON.parse(String(value)) as IndexedQuestion);
  }

  private remove(key: string): void {
    this.connection.run("DELETE FROM meta WHERE key = ?", key);
  }
}
