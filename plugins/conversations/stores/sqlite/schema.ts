// The tables of the store and the steps from one version to the next.
import type { Connection } from "./connection.ts";

/** Identifies a SQLite file as a conversation store: the start of the product name in ASCII. */
export const applicationId = 0x446f6f72;

/**
 * Step n leads from version n to version n + 1. A released step never changes; add a new one.
 *
 * - `entry`: append-only frames. `op` is a number of `operations`. `id` is the order of writing.
 * - `conversation.created_at` is null until the first entry; such a row only keeps taken ids.
 * - `conversation.title` is made of the first words; `name` is chosen by a person.
 * - `title_rank`: 0 no title, 1 from any turn, 2 from a turn of the person.
 * - `words`: the index for search. Its text is read from `entry` through the view `entry_text`; its
 *   deletions remove all traces.
 * - `taken.stopped`: 1 if a client stopped the message before the application accepted it.
 * - `meta.log` identifies the database in its log; `meta.written` is the number of the last batch
 *   whose rows are written; `meta.forgotten`: conversations that later batches must not restore.
 * - `journal`: batches of version 3, which had no log.
 * - `removal`: forgotten conversations whose entries are not deleted yet.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
  INSERT INTO meta VALUES
    ('clean', 1), ('boot', ''), ('durability', ''), ('file', ''), ('indexed', 0), ('probe', 0);
  CREATE TABLE conversation(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    public_id TEXT NOT NULL UNIQUE,
    channel TEXT NOT NULL,
    session TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    title_rank INTEGER NOT NULL DEFAULT 0,
    title_message TEXT,
    title_seq INTEGER NOT NULL DEFAULT 0,
    name TEXT,
    folded TEXT NOT NULL DEFAULT '',
    epoch TEXT NOT NULL,
    seq INTEGER NOT NULL,
    written INTEGER NOT NULL DEFAULT 0,
    plain INTEGER NOT NULL DEFAULT 0,
    acknowledged INTEGER NOT NULL DEFAULT 0,
    resumes INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER,
    used_at INTEGER NOT NULL DEFAULT 0,
    turns INTEGER NOT NULL DEFAULT 0,
    UNIQUE(channel, session)
  );
  CREATE INDEX conversation_used ON conversation(used_at, id);
  CREATE TABLE entry(
    id INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    message TEXT,
    op INTEGER NOT NULL,
    final INTEGER NOT NULL,
    at INTEGER NOT NULL,
    data BLOB NOT NULL
  );
  CREATE UNIQUE INDEX entry_seq ON entry(conversation, seq);
  CREATE INDEX entry_message ON entry(conversation, message, seq, op, final);
  CREATE TABLE taken(
    id INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL,
    message TEXT NOT NULL,
    digest TEXT NOT NULL,
    at INTEGER NOT NULL
  );
  CREATE INDEX taken_conversation ON taken(conversation);
  CREATE TABLE removal(conversation INTEGER PRIMARY KEY);
  CREATE VIEW entry_text(id, text) AS
    SELECT id, CASE WHEN json_valid(CAST(data AS TEXT))
      THEN coalesce(CAST(json_extract(CAST(data AS TEXT), '$.payload.content') AS TEXT), '')
      ELSE '' END
    FROM entry;
  CREATE VIRTUAL TABLE words USING fts5(
    text, content='entry_text', content_rowid='id', tokenize='unicode61 remove_diacritics 2'
  );
  INSERT INTO words(words, rank) VALUES ('secure-delete', 1);
  `,
  "ALTER TABLE taken ADD COLUMN stopped INTEGER NOT NULL DEFAULT 0;",
  "CREATE TABLE journal(id INTEGER PRIMARY KEY, data BLOB NOT NULL);",
  "INSERT INTO meta VALUES ('log', ''), ('written', 0), ('forgotten', '[]');",
];

/** Runs the steps that a file lacks, in one transaction. @returns The version before. */
export function migrate(connection: Connection, steps: readonly string[] = migrations): number {
  const version = connection.number("PRAGMA user_version");
  if (version >= steps.length) return version;
  connection.transaction(() => {
    for (const step of steps.slice(version)) connection.exec(step);
    connection.exec(`PRAGMA application_id = ${applicationId}`);
    connection.exec(`PRAGMA user_version = ${steps.length}`);
  });
  return version;
}
