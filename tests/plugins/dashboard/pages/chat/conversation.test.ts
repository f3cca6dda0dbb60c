// Tests which messages an open conversation of the chat reads.
import { afterEach, describe, expect, test, vi } from "vitest";
import { Conversation } from "../../../../../plugins/dashboard/pages/chat/state/conversation.ts";
import { addSent, setDelivery } from "../../../../../plugins/dashboard/pages/chat/state/thread.ts";

afterEach(() => vi.unstubAllGlobals());

describe("Conversation.loadHistory", () => {
  test("reads a conversation of another channel again after a failure", async () => {
    const fetched = vi.fn<typeof fetch>(() => Promise.reject(new Error("offline")));
    vi.stubGlobal("fetch", fetched);
    vi.stubGlobal("document", { querySelector: () => null, cookie: "" });
    const conversation = new Conversation("", { state: "idle", reason: "" }, "m1");
    await expect.poll(() => conversation.history.value.state).toBe("failed");
    await conversation.loadHistory();
    conversation.close();
    const path = "/api/conversations/m1?";
    expect(fetched.mock.calls.map(([url]) => url)).toEqual([path, path]);
  });
});

const isOffline = (): void => {
  vi.stubGlobal("fetch", () => Promise.reject(new Error("offline")));
  vi.stubGlobal("document", { querySelector: () => null, cookie: "" });
};

describe("Conversation.isNeeded", () => {
  test("holds while only the page has a message that failed", () => {
    isOffline();
    const conversation = new Conversation("s", { state: "idle", reason: "" });
    expect(conversation.isNeeded()).toBe(false);
    const sent = { requestId: "r", content: "kept", files: [], at: 1 };
    conversation.change((thread) => setDelivery(addSent(thread, sent), "r", "failed"));
    expect([conversation.isBusy(), conversation.isNeeded()]).toEqual([false, true]);
    conversation.close();
  });
});

describe("Conversation.key", () => {
  test("differs for conversations of other channels, which have no session here", () => {
    isOffline();
    const keys = ["m1", "m2"].map((id) => {
      const conversation = new Conversation("", { state: "idle", reason: "" }, id);
      conversation.close();
      return conversation.key;
    });
    expect(new Set([...keys, ""]).size).toBe(3);
  });
});
