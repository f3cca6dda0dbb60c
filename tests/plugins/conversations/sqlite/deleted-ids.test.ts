import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { DeletedIds } from "../../../../plugins/conversations/sqlite/deleted-ids.ts";
import { Connection, loadDriver } from "../../../../plugins/conversations/sqlite/driver.ts";
import { tables } from "../../../../plugins/conversations/sqlite/schema.ts";
import {
  address,
  createFolder,
  entry,
  openStore,
  StoppedTime,
  write,
} from "../../../support/sqlite-store.ts";

const minute = 60_000;

/** Deletes a conversation whose messages have these ids. */
async function deleteMessages(
  store: Awaited<ReturnType<typeof openStore>>,
  ...ids: readonly string[]
): Promise<void> {
  await write(store, ...ids.map((id) => entry("user", id, "s3cret", { request: id })));
  const { id } = store.history.find(address)!;
  await store.forget(id, () => undefined);
}

describe("DeletedIds", () => {
  test("know a message for ten minutes in which Doorward runs", async () => {
    const folder = createFolder();
    const clock = new StoppedTime();
    const first = await openStore({ folder, clock });
    await deleteMessages(first, "a");
    expect(first.isDeleted(address, "a")).toBe(true);
    expect(first.isDeleted(address, "b")).toBe(false);
    expect(first.isDeleted({ ...address, session: "other" }, "a")).toBe(false);
    await clock.pass(9 * minute);
    expect(first.isDeleted(address, "a")).toBe(true);
    await first.end();
    clock.suspend(400 * 24 * 60 * minute);
    const second = await openStore({ folder, clock });
    expect(second.isDeleted(address, "a")).toBe(true);
    await clock.pass(2 * minute);
    expect(second.isDeleted(address, "a")).toBe(false);
  });

  test("leave the file when they have expired, and nothing else happens", async () => {
    const folder = createFolder();
    const clock = new StoppedTime();
    const store = await openStore({ folder, clock });
    await deleteMessages(store, "a", "b");
    const count = (): number => {
      const reader = new Connection(loadDriver()!, join(folder, "conversations.db"));
      const found = reader.number("SELECT count(*) FROM deleted");
      reader.close();
      return found;
    };
    expect(count()).toBe(2);
    await clock.pass(11 * minute);
    expect(count()).toBe(0);
  });

  test("have no id and no word of the message in a file", async () => {
    const folder = createFolder();
    const store = await openStore({ folder });
    await deleteMessages(store, "s3cret-id");
    for (const name of readdirSync(folder)) {
      const bytes = readFileSync(join(folder, name));
      expect(bytes.includes("s3cret")).toBe(false);
    }
    expect(store.isDeleted(address, "s3cret-id")).toBe(true);
  });

  test("differ between two files", async () => {
    const hashes = await Promise.all(
      [createFolder(), createFolder()].map(async (folder) => {
        const store = await openStore({ folder });
        await deleteMessages(store, "a");
        await store.end();
        const reader = new Connection(loadDriver()!, join(folder, "conversations.db"));
        const [row] = reader.all("SELECT hash FROM deleted");
        reader.close();
        return Buffer.from(row!.hash as Uint8Array).toString("hex");
      }),
    );
    expect(hashes[0]).toHaveLength(64);
    expect(hashes[0]).not.toBe(hashes[1]);
  });

  test("keep at most 65,536, without the oldest", () => {
    const connection = new Connection(loadDriver()!, ":memory:");
    connection.exec(tables);
    const random = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(7);
    const deleted = new DeletedIds(connection, { random, now: () => minute });
    connection.transaction(() => {
      deleted.add(address, ["oldest", "second"]);
      deleted.add(
        address,
        Array.from({ length: 65_535 }, (_, index) => `m${index}`),
      );
    });
    expect(connection.number("SELECT count(*) FROM deleted")).toBe(65_536);
    const known = ["oldest", "second", "m65534"].map((id) => deleted.has(address, id));
    expect(known).toEqual([false, true, true]);
    connection.close();
  });
});
