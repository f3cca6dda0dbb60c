import { describe, expect, test } from "vitest";
import { conversations, type Conversations } from "../../../plugins/conversations/index.ts";
import type { AnyPlugin } from "../../../kernel/index.ts";
import { startPicoServer } from "../../support/pico-server-harness.ts";
import { storeIn } from "../../support/sqlite-conversations.ts";
import { createFolder } from "../../support/sqlite-store.ts";

describe("events of the conversations plugin", () => {
  test("name stored sessions and count deleted conversations", async () => {
    const store = storeIn(createFolder());
    const first = conversations({ store }) as unknown as AnyPlugin;
    await using server = await startPicoServer({ first });
    const events: object[] = [];
    const kernel = server.kernel as unknown as {
      on(type: string, listener: (event: object) => void): void;
    };
    for (const type of ["conversations:changed", "conversations:forgotten"])
      kernel.on(type, (event) => void events.push({ type, ...event }));
    await Promise.all([
      server.say("s1", "one"),
      server.say("s1", "two"),
      server.say("s2", "three"),
    ]);
    const changed = { type: "conversations:changed", channel: "pico" };
    expect(events).toContainEqual({ ...changed, session: "s1" });
    expect(events).toContainEqual({ ...changed, session: "s2" });
    expect(JSON.stringify(events)).not.toContain("three");
    const service = (server.services as unknown as { conversations: Conversations }).conversations;
    const found = await service.find({ channel: "pico", session: "s1" });
    await service.forget(found!.id);
    expect(events.at(-1)).toEqual({ type: "conversations:forgotten", count: 1 });
  });
});
