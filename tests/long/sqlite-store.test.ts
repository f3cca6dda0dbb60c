// Properties of the SQLite store that take long, because each history opens a new file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { Connection, loadDriver } from "../../plugins/conversations/sqlite/driver.ts";
import { storageModelConformance } from "../conformance/storage-model.ts";
import { storedLogProperties } from "../conformance/stored-log-model.ts";
import { rounds } from "../support/runs.ts";
import { address, createFolder, epoch, openStore } from "../support/sqlite-store.ts";

const kills = rounds(40);
const child = fileURLToPath(new URL("children/store-writer.mjs", import.meta.url));

/** @returns The last number that the process reported as stored before it was killed. */
async function writeUntilKilled(path: string, batches: number): Promise<number> {
  const writer = spawn(process.execPath, [child, join(path, "conversations.db")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let last = 0;
  let count = 0;
  for await (const line of createInterface({ input: writer.stdout })) {
    last = Number(line);
    count += 1;
    if (count === batches) writer.kill("SIGKILL");
  }
  if (writer.exitCode === null && writer.signalCode === null) await once(writer, "exit");
  expect(writer.signalCode).toBe("SIGKILL");
  return last;
}

describe("SQLite store", () => {
  storageModelConformance(rounds(60));
  storedLogProperties(rounds(100));

  test("loses no acknowledged batch when its process is killed", async () => {
    const path = createFolder();
    let acknowledged = 0;
    for (let round = 0; round < kills; round++) {
      acknowledged = await writeUntilKilled(path, 1 + Math.floor(Math.random() * 200));
      const store = await openStore({ folder: path });
      const stream = store.load(address)!;
      expect(stream.epoch).toBe(epoch);
      expect(stream.seq).toBeGreaterThanOrEqual(acknowledged);
      expect(stream.frames.at(-1)!.seq).toBe(stream.seq);
      expect(store.history.find(address)!.turns).toBe(stream.seq);
      await store.end();
    }
    const connection = new Connection(loadDriver()!, join(path, "conversations.db"));
    expect(connection.all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    connection.close();
  });
});
