// Properties of the SQLite store that take long, because each history opens a new file.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { Connection, loadDriver } from "../../plugins/conversations/sqlite/driver.ts";
import { storageModelConformance } from "../conformance/storage-model.ts";
import { storedLogProperties } from "../conformance/stored-log-model.ts";
import { sqliteLaw } from "../conformance/sqlite-law.ts";
import { checkStoreLaw } from "../conformance/store-law.ts";
import { isBrief, rounds } from "../support/runs.ts";
import { fileIn } from "../support/sqlite-conversations.ts";
import { address, createFolder, epoch, openStore, say } from "../support/sqlite-store.ts";

const kills = rounds(40);
const minute = 60_000;

/**
 * Runs a script of `children/` on a store until `isEnough` is true for its lines.
 *
 * @returns The lines that it wrote before it was killed.
 */
async function runUntilKilled(
  script: string,
  args: readonly string[],
  isEnough: (lines: readonly string[]) => boolean,
): Promise<readonly string[]> {
  const file = fileURLToPath(new URL(`children/${script}`, import.meta.url));
  const writer = spawn(process.execPath, [file, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  for await (const line of createInterface({ input: writer.stdout })) {
    lines.push(line);
    if (isEnough(lines)) writer.kill("SIGKILL");
  }
  if (writer.exitCode === null && writer.signalCode === null) await once(writer, "exit");
  expect(writer.signalCode).toBe("SIGKILL");
  return lines;
}

/** @returns The last number that the process reported as stored before it was killed. */
async function writeUntilKilled(folder: string, batches: number): Promise<number> {
  const enough = ({ length }: readonly string[]): boolean => length === batches;
  return Number((await runUntilKilled("store-writer.mjs", [fileIn(folder)], enough)).at(-1));
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
    const connection = new Connection(loadDriver()!, fileIn(path));
    expect(connection.all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    connection.close();
  });

  test("knows each answered message and the text that grows after a kill", async () => {
    const folder = createFolder();
    for (let round = 0; round < rounds(10); round++) {
      const growing = `text of round ${round}`;
      const isLong = round % 2 === 0;
      const end = performance.now() + (isLong ? 6_000 : 200 * Math.random());
      const isOver = (): boolean => performance.now() > end;
      const lines = await runUntilKilled("store-answers.mjs", [fileIn(folder), growing], isOver);
      const store = await openStore({ folder });
      const taken = new Set(store.knownIds(address).map(({ id }) => id));
      expect(lines.slice(-500).filter((id) => !taken.has(id))).toEqual([]);
      const { id } = store.history.find({ channel: "pico", session: "grows" })!;
      const turn = store.history.read(id).items.at(-1);
      expect(turn).toMatchObject({ complete: false, ...(isLong && { content: growing }) });
      await store.forget(id, () => {});
      await store.end();
    }
  });

  test("keeps what it acknowledged, and nothing that was forgotten", () =>
    checkStoreLaw(sqliteLaw, rounds(500)));

  // Fifteen minutes of real time: too long for .ci/run, whose laws pass them on a stopped clock.
  const timeout = 30 * minute;
  test.skipIf(isBrief)("keeps all conversations over minutes of silence", { timeout }, async () => {
    const store = await openStore();
    const count = 5;
    for (let round = 0; round < count; round++) {
      for (const session of [`a${round}`, `b${round}`]) await say(store, session, session);
      await new Promise((resolve) => setTimeout(resolve, 3 * minute));
    }
    const { items } = store.history.list({ limit: 200 });
    expect(items.map(({ title }) => title)).toHaveLength(2 * count);
    for (const { id, session } of items)
      expect(store.history.read(id).items).toMatchObject([{ content: session }]);
  });
});
