import { describe, test } from "vitest";
import { memoryLaw } from "../conformance/memory-law.ts";
import { sqliteLaw } from "../conformance/sqlite-law.ts";
import { checkStoreLaw } from "../conformance/store-law.ts";
import { runs } from "../support/runs.ts";

describe("SqliteStore", () => {
  test("keeps what it acknowledged, and nothing that was forgotten", () =>
    checkStoreLaw(sqliteLaw, runs(75)));
});

describe("MemoryConversations", () => {
  test("keeps what it acknowledged while a client may return", () =>
    checkStoreLaw(memoryLaw, runs(150)));
});
