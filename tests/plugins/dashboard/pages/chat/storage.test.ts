import { describe, expect, test } from "vitest";
import type { ConversationsView } from "../../../../../plugins/dashboard/shared/conversation-views.ts";
import { ConversationList } from "../../../../../plugins/dashboard/pages/chat/state/list.ts";

const store = { kind: "sqlite", state: "up", since: 5, conversations: 0, waitingBytes: 0 } as const;
const listOf = (changes: object): ConversationList => {
  const view = { conversations: [], store: { ...store, searches: true, ...changes } };
  return new ConversationList(view as unknown as ConversationsView);
};

describe("ConversationList.storage", () => {
  test("tells where messages are kept, and since when nothing can be", () => {
    expect(listOf({}).storage.value).toBe("server");
    expect(listOf({ kind: "redis" }).storage.value).toBe("redis");
    expect(listOf({ kind: "memory" }).storage.value).toBe("none");
    expect(listOf({ state: "away" }).storage.value).toBe(5);
    expect(listOf({ state: "away", since: 7 }).storage.value).toBe(7);
  });
});
