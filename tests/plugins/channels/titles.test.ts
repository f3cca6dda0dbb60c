// Tests the titles that the application sets.
import { describe, expect, test } from "vitest";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import { Sessions } from "../../../plugins/channels/sessions.ts";
import { Titles } from "../../../plugins/channels/titles.ts";
import type { ConversationSummary } from "../../../plugins/conversations/index.ts";

const address = { channel: "pico", session: "s" };

/** A store whose conversation exists only if `exists` is set. */
function createStore() {
  const store = {
    exists: false,
    renamed: [] as unknown[],
    find: async () => (store.exists ? ({ id: "c1" } as ConversationSummary) : undefined),
    rename: async (...call: unknown[]) => void store.renamed.push(call),
  };
  return {
    store,
    titles: new Titles(store, createCapturedLog().log, new Sessions(createStoppedClock())),
  };
}

describe("Titles", () => {
  test("sets the title of a stored conversation as the application", async () => {
    const { store, titles } = createStore();
    store.exists = true;
    await titles.set(address, " Garden ");
    expect(store.renamed).toEqual([["c1", "Garden", { by: "application" }]]);
  });

  test("keeps a title until the first message is stored", async () => {
    const { store, titles } = createStore();
    await titles.set(address, "Early");
    await titles.set(address, "Later");
    expect(store.renamed).toEqual([]);
    store.exists = true;
    titles.answerEnded(address);
    await expect.poll(() => store.renamed).toEqual([["c1", "Later", { by: "application" }]]);
  });

  test("forgets the title of a conversation that is deleted", async () => {
    const { store, titles } = createStore();
    await titles.set(address, "Early");
    titles.forget(address);
    store.exists = true;
    titles.answerEnded(address);
    expect(store.renamed).toEqual([]);
  });

  test.each(["", "   ", "x".repeat(201)])("rejects a blank or long title: %#", async (title) => {
    const { titles } = createStore();
    await expect(titles.set(address, title)).rejects.toMatchObject({ code: "title_invalid" });
  });
});
