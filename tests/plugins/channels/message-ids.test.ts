import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createMessageIds } from "../../../plugins/channels/index.ts";

describe("createMessageIds", () => {
  test("finds the parts of a message and the message of a part", () => {
    const ids = createMessageIds();
    ids.set("s", "m", ["1", "2"]);
    ids.set("other", "n", ["1"]);
    expect(ids.networkIds("s", "m")).toEqual(["1", "2"]);
    expect(["1", "2", "3"].map((part) => ids.id("s", part))).toEqual(["m", "m", undefined]);
    expect(ids.id("other", "1")).toBe("n");
    ids.set("s", "m", ["2"]);
    expect([ids.id("s", "1"), ids.id("s", "2")]).toEqual([undefined, "m"]);
    ids.delete("s", "m");
    expect([ids.networkIds("s", "m"), ids.id("s", "2"), ids.size]).toEqual([
      undefined,
      undefined,
      1,
    ]);
  });

  test("distinguishes sessions and ids whose joined text is equal", () => {
    const ids = createMessageIds();
    ids.set("a", "b c", ["1"]);
    ids.set("a b", " c", ["2"]);
    expect(ids.networkIds("a", "b c")).toEqual(["1"]);
  });

  test("keeps the latest ids and stays below twice the limit", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 }), fc.array(fc.nat(60)), (keep, all) => {
        const ids = createMessageIds({ keep });
        for (const id of all) ids.set("s", `m${id}`, [`${id}`]);
        expect(ids.size).toBeLessThanOrEqual(2 * keep);
        for (const id of [...new Set(all.toReversed())].slice(0, keep)) {
          expect(ids.id("s", `${id}`)).toBe(`m${id}`);
        }
      }),
    );
  });

  test("keeps a message that is in use", () => {
    const ids = createMessageIds({ keep: 2 });
    ids.set("s", "long", ["1"]);
    for (let index = 2; index < 20; index += 1) {
      ids.set("s", `m${index}`, [`${index}`]);
      expect(ids.networkIds("s", "long")).toEqual(["1"]);
    }
  });
});
