import { describe } from "vitest";
import { sessionLogConformance } from "../../../conformance/session-log.ts";
import { storedLogProperties } from "../../../conformance/stored-log-model.ts";
import { storedLogConformance, type StoreFile } from "../../../conformance/stored-log.ts";
import { createFakeStorage, type FakeFile } from "../../../support/fake-conversation-storage.ts";
import { createConversations } from "../../../support/stored-conversations.ts";

function createFile(): StoreFile {
  const file: FakeFile = new Map();
  return {
    open: () => createFakeStorage(file),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

describe("StoredLog", () => {
  sessionLogConformance({ keptMs: 300_000, isDurable: true }, (bounds) =>
    createConversations(createFakeStorage(), bounds),
  );
  storedLogConformance(createFile);
  storedLogProperties(createFile);
});
