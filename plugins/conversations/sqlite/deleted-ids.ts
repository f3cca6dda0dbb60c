/** Recognises the messages of deleted conversations when a client repeats them. */
import { createHmac } from "node:crypto";
import { keyOf } from "../../../lib/util.ts";
import type { Address } from "../contract.ts";
import type { Connection } from "./driver.ts";
import { getMeta, setMeta } from "./recovery.ts";

interface DeletedIdsOptions {
  readonly random: (bytes: number) => Uint8Array;
  /** Milliseconds that Doorward has run with this file. */
  readonly now: () => number;
}

/** How long and how many ids are kept. */
export const deletedMs = 600_000;
const maxDeleted = 65_536;
const keyBytes = 32;

/**
 * Keeps nothing of a message but an HMAC-SHA-256 of its session and id, whose key the file has.
 * Call everything that writes in a transaction.
 */
export class DeletedIds {
  private readonly connection: Connection;
  private readonly options: DeletedIdsOptions;
  /** False until the file has had an id. */
  private hasAny: boolean;

  constructor(connection: Connection, options: DeletedIdsOptions) {
    this.connection = connection;
    this.options = options;
    this.hasAny = connection.get("SELECT 1 FROM deleted LIMIT 1") !== undefined;
  }

  add(address: Address, ids: readonly string[]): void {
    if (ids.length === 0) return;
    this.hasAny = true;
    const at = this.options.now();
    const key = this.key() ?? this.createKey();
    const sql = "INSERT OR IGNORE INTO deleted(hash, at) VALUES (?, ?)";
    for (const id of ids) this.connection.run(sql, hashOf(key, address, id), at);
    this.expire();
  }

  has(address: Address, id: string): boolean {
    const key = this.hasAny ? this.key() : undefined;
    if (key === undefined) return false;
    const row = this.connection.get(
      "SELECT 1 FROM deleted WHERE hash = ? AND at > ?",
      hashOf(key, address, id),
      this.options.now() - deletedMs,
    );
    return row !== undefined;
  }

  /** True while ids are kept. */
  isKeeping(): boolean {
    return this.hasAny && this.connection.get("SELECT 1 FROM deleted LIMIT 1") !== undefined;
  }

  /** Removes the ids that are too old or too many, the oldest first. */
  expire(): void {
    this.connection.run("DELETE FROM deleted WHERE at <= ?", this.options.now() - deletedMs);
    this.connection.run(
      `DELETE FROM deleted WHERE id <= (SELECT max(id) FROM deleted) - ${maxDeleted}`,
    );
  }

  private key(): Buffer | undefined {
    const hex = getMeta(this.connection, "deleted_key");
    return hex === undefined ? undefined : Buffer.from(String(hex), "hex");
  }

  private createKey(): Buffer {
    const key = Buffer.from(this.options.random(keyBytes));
    setMeta(this.connection, "deleted_key", key.toString("hex"));
    return key;
  }
}

const hashOf = (key: Buffer, { channel, session }: Address, id: string): Buffer =>
  createHmac("sha256", key)
    .update(keyOf(channel, session, id))
    .digest();
