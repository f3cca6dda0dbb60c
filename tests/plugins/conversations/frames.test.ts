// Compares the frames of clients with those that they received before conversations were stored.
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../kernel/index.ts";
import { conversations } from "../../../plugins/conversations/index.ts";
import { runScript, scriptedApplication } from "../../support/frame-script.ts";
import { startPicoServer } from "../../support/pico-server-harness.ts";
import { storeIn } from "../../support/sqlite-conversations.ts";
import { createFolder } from "../../support/sqlite-store.ts";

/** Recorded when the channel kept its streams in memory itself. */
const recorded = new URL("fixtures/frames.json", import.meta.url);
const daysOfStore = 90;

describe("frames of plain and extended clients", () => {
  test.each<[string, () => AnyPlugin | undefined, boolean]>([
    ["without the plugin", () => undefined, false],
    ["in memory", () => conversations(), false],
    ["in a store", () => conversations({ store: storeIn(createFolder()) }), true],
  ])("have not changed %s", async (_, createFirst, keepsTurns) => {
    const first = createFirst();
    await using server = await startPicoServer({
      app: scriptedApplication,
      ...(first && { first }),
    });
    const frames = await runScript(server, keepsTurns);
    const expected = JSON.parse(await readFile(recorded, "utf8")) as string[];
    // A store keeps streams longer, which `hello` announces.
    const ttl = `"ttl_s":${daysOfStore * 86_400}`;
    expect(frames.map((frame) => frame.replace(ttl, '"ttl_s":300'))).toEqual(expected);
  });
});
