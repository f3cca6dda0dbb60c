// Runs the session log over the SQLite store.
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, onTestFinished } from "vitest";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import type { ConversationStorage } from "../../../../plugins/conversations/index.ts";
import { openSqliteStorage } from "../../../../plugins/conversations/stores/sqlite/index.ts";
import { sessionLogConformance } from "../../../conformance/session-log.ts";
import { storedLogProperties } from "../../../conformance/stored-log-model.ts";
import { storedLogConformance, type StoreFile } from "../../../conformance/stored-log.ts";
import { createConversations } from "../../../support/stored-conversations.ts";

async function createFile(): Promise<StoreFile> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-stored-log-"));
  const open = (): Promise<ConversationStorage> =>
    openSqliteStorage({
      path: join(folder, "conversations.db"),
      clock: {
        now: () => Date.now(),
        monotonic: () => performance.now(),
        setTimeout: (run, ms) => setTimeout(run, ms),
        clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
      },
      log: createCapturedLog().log,
      random: (bytes) => randomBytes(bytes),
    });
  return { open, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

describe("StoredLog over SQLite", () => {
  sessionLogConformance({ keptMs: 300_000, isDurable: true, numRuns: 5 }, async (bounds) => {
    const file = await createFile();
    const storage = await file.open();
    onTestFinished(async () => {
      await storage.close();
      await file[Symbol.asyncDispose]();
    });
    return createConversations(storage, bounds);
  });
  storedLogConformance(createFile);
  storedLogProperties(createFile, 6);
});
