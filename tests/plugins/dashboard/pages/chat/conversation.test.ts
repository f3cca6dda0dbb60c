// Tests which messages an open conversation of the chat reads.
import { afterEach, describe, expect, test, vi } from "vitest";
import { Conversation } from "../../../../../plugins/dashboard/pages/chat/state/conversation.ts";

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
