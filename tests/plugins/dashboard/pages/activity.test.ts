import { describe, expect, test } from "vitest";
import type { LogLineView } from "../../../../plugins/dashboard/shared/views.ts";
import {
  matches,
  parseFilter,
  parseLevels,
  searchText,
  sourceOf,
  withTerm,
} from "../../../../plugins/dashboard/pages/activity/filter.ts";
import { splitMarks } from "../../../../plugins/dashboard/pages/parts/marked.tsx";
import {
  histogramOf,
  histogramSentence,
  idOf,
  isInMinute,
  toChunks,
} from "../../../../plugins/dashboard/pages/activity/lines.ts";

const line = (fields: object, text = "connection rejected: wrong token"): LogLineView => ({
  at: 1_000_000,
  level: "warn",
  text,
  fields: fields as Record<string, unknown>,
});
const rejected = line({ ip: "192.168.1.77", plugin: "pico", request_id: "7f3a", count: 3 });

describe("parseFilter", () => {
  test.each([
    ["", true],
    ["WRONG rejected", true],
    ["wrong garden", false],
    ["level:warning", true],
    ["level:warn level:error", false],
    ["level:error", false],
    ["request:7f3a", true],
    ["request:9c1e", false],
    ["address:192.168.1 wrong", true],
    ["source:pico", true],
    ["count:3", true],
    ['"wrong token"', true],
    ['text:"token wrong"', false],
    ["text:192", false],
    ["__proto__:x", false],
    ["constructor:x", false],
  ])("%s", (filter, expected) => {
    expect(matches(parseFilter(filter), rejected)).toBe(expected);
  });

  test("asks the server for the longest text that is not a level", () => {
    expect(searchText(parseFilter("a level:warning request:7f3a"))).toBe("7f3a");
    expect(searchText(parseFilter("level:error"))).toBe("");
  });

  test("replaces a term of the same key", () => {
    expect(withTerm("wrong request:1", "request", "7f3a")).toBe("wrong request:7f3a");
    expect(withTerm("", "address", "::1")).toBe("address:::1");
    expect(withTerm("", "source", "a b")).toBe('source:"a b"');
  });

  test("marks words without reading them as patterns", () => {
    expect(splitMarks("a (b) c", ["(b)"])).toEqual(["a ", "(b)", " c"]);
    expect(splitMarks("Wrong token", ["wrong"])).toEqual(["", "Wrong", " token"]);
    expect(splitMarks("abc", [])).toEqual(["abc"]);
  });

  test("names source and levels", () => {
    expect([sourceOf(rejected), sourceOf(line({}))]).toEqual(["pico", "doorward"]);
    expect(parseLevels("error,warn,x")).toEqual(["warn", "error"]);
    expect(parseLevels(null)).toBeUndefined();
  });
});

describe("histogramOf and chunks", () => {
  test("keeps chunks when lines are added", () => {
    const numbered = (seq: number) => ({ ...line({ seq }), seq, id: String(seq) });
    const lines = Array.from({ length: 120 }, (_, seq) => numbered(seq));
    const chunks = toChunks(lines.toReversed());
    expect(chunks.map(({ key, lines: own }) => [key, own.length])).toEqual([
      [2, 20],
      [1, 50],
      [0, 50],
    ]);
    const later = toChunks([numbered(120), ...lines.toReversed()]);
    expect(later[1]).toEqual(chunks[1]);
  });

  test("makes ids of time and content", () => {
    expect(idOf(rejected)).toBe(idOf({ ...rejected }));
    expect(idOf(rejected)).not.toBe(idOf(line({})));
  });

  test("counts lines by minute with the highest level", () => {
    const now = 200 * 60_000;
    const at = (minute: number, level: LogLineView["level"]) => ({
      ...rejected,
      at: minute * 60_000 + 5,
      level,
    });
    const minutes = histogramOf(
      [at(200, "info"), at(200, "error"), at(111, "warn"), at(110, "info"), at(201, "info")],
      now,
    );
    expect(minutes).toHaveLength(90);
    expect(minutes.at(-1)).toEqual({ at: now, count: 2, worst: "error" });
    expect(minutes[0]).toEqual({ at: 111 * 60_000, count: 1, worst: "warn" });
    expect(histogramSentence(minutes, String)).toBe(
      "3 lines in the last 90 minutes, warnings at 6660000, errors at 12000000",
    );
    expect(isInMinute(at(111, "info"), 111 * 60_000)).toBe(true);
    expect(isInMinute(at(112, "info"), 111 * 60_000)).toBe(false);
  });
});
