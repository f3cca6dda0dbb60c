import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import { createHistory, fileIn } from "../../../support/sqlite-conversations.ts";
import { createFolder, entry, openStore, say } from "../../../support/sqlite-store.ts";

const pageBytes = 4_096;

/** The file of a store with some conversations. Their number decides which pages the tables have. */
async function fileWithHistory(count: number): Promise<Buffer> {
  const folder = await createHistory(
    ...Array.from({ length: count }, (_, at) => entry("create", `m${at}`, `word${at} `.repeat(40))),
  );
  return readFileSync(fileIn(folder));
}

/** Uses all parts of a store. @returns The errors. */
async function useAll(store: Awaited<ReturnType<typeof openStore>>): Promise<unknown[]> {
  const errors: unknown[] = [];
  const attempt = async (run: () => unknown): Promise<void> => {
    try {
      await run();
    } catch (error) {
      errors.push(error);
    }
  };
  await attempt(() => say(store, "s", "new"));
  await attempt(() => store.reading(() => store.completeIndex()));
  for (let at = 0; at < 60; at += 20)
    await attempt(() => store.reading(() => store.history.search(`word${at}`)));
  await attempt(() =>
    store.reading(() => {
      for (const { id } of store.history.list().items) store.history.read(id, { limit: 200 });
    }),
  );
  await attempt(() => store.knownIds({ channel: "pico", session: "s" }));
  await attempt(() => say(store, "s", "newer"));
  return errors;
}

describe("A damaged page", () => {
  test.each([1, 60, 150])(
    "appears in the health, or rejects the start: %i messages",
    async (count) => {
      const file = await fileWithHistory(count);
      const refused: number[] = [];
      const reported: number[] = [];
      for (let at = 0; at < file.length; at += pageBytes) {
        const folder = createFolder();
        const damaged = Buffer.from(file);
        damaged.fill(0xff, at === 0 ? 100 : at, at + pageBytes);
        writeFileSync(fileIn(folder), damaged, { mode: 0o600 });
        let store;
        try {
          store = await openStore({ folder });
        } catch (error) {
          expect(error).toMatchObject({ code: "STORE_BROKEN" });
          expect(readFileSync(fileIn(folder)).equals(damaged), `page ${at / pageBytes}`).toBe(true);
          refused.push(at);
          continue;
        }
        const errors = await useAll(store);
        if (errors.length === 0) continue;
        reported.push(at);
        expect(
          store.health().problem,
          `page ${at / pageBytes}: ${errors.join(", ")}`,
        ).toBeDefined();
      }
      expect(refused.length).toBeGreaterThan(3);
      expect(reported.length).toBeGreaterThan(3);
    },
  );
});

describe("An empty file", () => {
  test("appears in the log and the health", async () => {
    const folder = createFolder();
    writeFileSync(join(folder, "conversations.db"), "", { mode: 0o600 });
    const { log, lines } = createCapturedLog();
    const store = await openStore({ folder, log });
    expect(lines.map(({ text }) => text).join()).toContain("was empty at the start");
    expect(store.health().notice).toContain("was empty at the start");
  });

  test("rejects the start if its log has messages", async () => {
    const folder = createFolder();
    writeFileSync(fileIn(folder), "", { mode: 0o600 });
    writeFileSync(`${fileIn(folder)}-wal`, Buffer.alloc(5_000), { mode: 0o600 });
    await expect(openStore({ folder })).rejects.toMatchObject({ code: "STORE_BROKEN" });
    expect(readFileSync(`${fileIn(folder)}-wal`)).toHaveLength(5_000);
  });
});
