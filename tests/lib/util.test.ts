// Tests small functions of every part of the project.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BoundedMap, fenceOf, keyOf, withoutMarkdown } from "../../lib/util.ts";

describe("fenceOf", () => {
  test.each([
    ["no backtick", "x", 3],
    ["four backticks", "a ```` b", 5],
    ["a million runs of backticks", "` ".repeat(1_000_000), 3],
  ])("encloses %s", (_, text, length) => {
    expect(fenceOf(text)).toBe("`".repeat(length));
  });
});

describe("withoutMarkdown", () => {
  test.each([
    ["**Hello** `x`", "Hello x"],
    ["# A plan", "A plan"],
    ["- [ ] milk", "[ ] milk"],
    ["> *quoted* and _said_", "quoted and said"],
    ["see [the page](https://example.org/a?b=c)!", "see the page!"],
    ["![a cat](cat.png)", "a cat"],
    ["~~old~~ ***both***", "old both"],
    ["```ts\nconst a = 1;\n```", "\nconst a = 1;\n"],
    ["1. first", "first"],
  ])("reduces %j to %j", (text, plain) => {
    expect(withoutMarkdown(text)).toBe(plain);
  });

  test.each(["2 * 3 * 4", "snake_case_name", "a*b*c", "-5 degrees", "#1", "f(x)[0](y z)", "x ~ y"])(
    "keeps %j",
    (text) => {
      expect(withoutMarkdown(text)).toBe(text);
    },
  );

  test("adds nothing, and ends in time for any text", () => {
    const pieces = fc.constantFrom("*", "_", "`", "[", "](", ")", "~~", "a", " ", "\n", "#", "1.");
    const texts = fc.array(pieces, { maxLength: 1_600 }).map((all) => all.join(""));
    fc.assert(
      fc.property(texts, (text) => {
        const began = performance.now();
        const plain = withoutMarkdown(text);
        expect(plain.length).toBeLessThanOrEqual(text.length);
        expect(performance.now() - began).toBeLessThan(1_000);
      }),
    );
  });
});

/** Names as other people choose them: with separators and numbers of older forms of keys. */
const names = fc.array(
  fc.oneof(
    fc.string({ unit: fc.constantFrom("\0", "\n", " ", ":", "1", "2", "a"), maxLength: 5 }),
    fc.string({ unit: "binary", maxLength: 5 }),
  ),
  { minLength: 1, maxLength: 4 },
);

describe("keyOf", () => {
  test("gives different names different keys, whatever they contain", () => {
    fc.assert(
      fc.property(names, names, (one, other) => {
        const isSame = JSON.stringify(one) === JSON.stringify(other);
        expect(keyOf(...one) === keyOf(...other)).toBe(isSame);
      }),
      { numRuns: 2_000 },
    );
  });

  test("separates names that share a joined text", () => {
    const texts = fc.string({ unit: fc.constantFrom("\0", " ", "1", "a") });
    fc.assert(
      fc.property(texts, fc.nat(), fc.nat(), (text, one, other) => {
        const [first, second] = [one % (text.length + 1), other % (text.length + 1)];
        const keyAt = (at: number): string => keyOf(text.slice(0, at), text.slice(at));
        expect(keyAt(first) === keyAt(second)).toBe(first === second);
      }),
    );
  });
});

describe("BoundedMap", () => {
  test("keeps the newest entries of any changes", () => {
    const change = fc.record({
      act: fc.constantFrom("set", "set", "renew", "delete", "clear"),
      key: fc.nat(12),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(change), (max, changes) => {
        const map = new BoundedMap<number, number>(max);
        let model: (readonly [number, number])[] = [];
        for (const [at, { act, key }] of changes.entries()) {
          const isKnown = model.some(([known]) => known === key);
          const rest = model.filter(([known]) => known !== key);
          if (act === "clear") map.clear();
          else if (act === "delete") map.delete(key);
          else map[act as "set" | "renew"](key, at);
          if (act === "clear") model = [];
          else if (act === "delete") model = rest;
          else if (act === "set" && isKnown)
            model = model.map((entry) => (entry[0] === key ? [key, at] : entry));
          else model = [...rest, [key, at] as const].slice(-max);
          expect([...map]).toEqual(model);
        }
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ["that are deleted before it is full", 0],
    ["that are deleted after it was full", 300],
  ])("lets go of entries %s", async (_, first) => {
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    const map = new BoundedMap<number, object>(200);
    for (let key = 0; key < first; key += 1) map.set(key, {});
    const deleted: WeakRef<object>[] = [];
    // The table of a map is replaced while it grows, and entries of that time are in the old one.
    for (let key = first; key < first + 5_000; key += 100) {
      for (let at = key; at < key + 100; at += 1) {
        const value = {};
        deleted.push(new WeakRef(value));
        map.set(at, value);
      }
      for (let at = key; at < key + 100; at += 1) map.delete(at);
    }
    await new Promise((done) => setImmediate(done)); // a turn keeps what was referred to in it
    gc();
    const kept = deleted.filter((each) => each.deref() !== undefined).length;
    expect(kept).toBeLessThan(100);
  });
});
