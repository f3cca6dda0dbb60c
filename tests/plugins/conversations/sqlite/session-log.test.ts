import { describe } from "vitest";
import { sessionLogConformance } from "../../../conformance/session-log.ts";
import { storedLogProperties } from "../../../conformance/stored-log-model.ts";
import { storedLogConformance } from "../../../conformance/stored-log.ts";
import { openConversations } from "../../../support/sqlite-conversations.ts";
import { createFolder } from "../../../support/sqlite-store.ts";

describe("SqliteSessionLog", () => {
  sessionLogConformance({ keptMs: 300_000, isDurable: true, numRuns: 5 }, (bounds) =>
    openConversations(createFolder(), undefined, bounds),
  );
  storedLogConformance();
  storedLogProperties(12);
});
