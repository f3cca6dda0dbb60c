import { describe, expect, onTestFinished, test } from "vitest";
import { join } from "node:path";
import { createKernel } from "../../../../kernel/index.ts";
import { conversations, sqlite } from "../../../../plugins/conversations/index.ts";
import { sessionLogConformance } from "../../../conformance/session-log.ts";
import { storedLogConformance, type StoreFile } from "../../../conformance/stored-log.ts";
import { createFolder, openStorage } from "../../../support/sqlite-storage-harness.ts";
import { createConversations } from "../../../support/stored-conversations.ts";

function createFile(): StoreFile {
  const path = createFolder();
  return { open: () => openStorage({ path }), [Symbol.asyncDispose]: () => Promise.resolve() };
}

describe("StoredLog with SQLite", () => {
  sessionLogConformance({ keptMs: 300_000, isDurable: true }, async (bounds) =>
    createConversations(await openStorage(), bounds),
  );
  storedLogConformance(createFile);
});

describe("sqlite", () => {
  test("gives the plugin a durable store", async () => {
    const path = join(createFolder(), "conversations.db");
    const kernel = createKernel([conversations({ store: sqlite({ path }) })]);
    onTestFinished(() => kernel.stop());
    await kernel.start();
    expect(kernel.services.conversations.health()).toMatchObject({
      kind: "sqlite",
      state: "up",
      path,
    });
  });
});
