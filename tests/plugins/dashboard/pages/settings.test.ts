import { describe, expect, test } from "vitest";
import type { SettingsSectionView } from "../../../../plugins/dashboard/shared/views.ts";
import {
  addItems,
  draftOf,
  hasConflict,
  isChanged,
  read,
  settingsOf,
} from "../../../../plugins/dashboard/pages/settings/form.ts";
import { parseNumber, valueLabel } from "../../../../plugins/dashboard/pages/settings/schema.ts";
import {
  fromUnitValue,
  quantityLabel,
  toUnitValue,
  unitsOf,
} from "../../../../plugins/dashboard/pages/settings/units.ts";

const MiB = 1024 ** 2;
const bytes = unitsOf("bytes");
const seconds = unitsOf("seconds");

describe("units", () => {
  test.each([
    [32 * MiB, bytes, "32", "MiB"],
    [1536, bytes, "1.5", "KiB"],
    [1024 ** 3, bytes, "1", "GiB"],
    [300, seconds, "5", "min"],
    [90, seconds, "90", "s"],
    [7200, seconds, "2", "h"],
    [0, seconds, "0", "s"],
  ])("shows %i in the largest unit without a fraction", (value, units, text, name) => {
    const shown = toUnitValue(value, units);
    expect([shown.text, shown.unit.name]).toEqual([text, name]);
    expect(fromUnitValue(Number(shown.text), shown.unit)).toBe(value);
  });

  test("rounds off the error of binary fractions", () => {
    expect(fromUnitValue(0.1, { name: "min", factor: 60 })).toBe(6);
    expect(fromUnitValue(1.1, { name: "KiB", factor: 1000 })).toBe(1100);
  });

  test("names quantities with their unit", () => {
    expect(quantityLabel(256 * MiB, "bytes")).toBe("256 MiB");
    expect(quantityLabel(1_000_000, undefined)).toBe("1,000,000");
    expect(quantityLabel(200, "messages")).toBe("200 messages");
    expect(valueLabel([], "x")).toBe("none");
  });
});

describe("parseNumber", () => {
  const [, minute] = seconds;
  test.each([
    [{ type: "integer", minimum: 1, maximum: 1_000_000 }, "0", "a number from 1 to 1,000,000."],
    [{ type: "integer", minimum: 1, maximum: 86_400, unit: "seconds" }, "-5", "from 1 s to 24 h."],
    [{ type: "number", minimum: 0, maximum: 50, unit: "messages" }, "51", "0 to 50 messages."],
    [{ type: "integer", minimum: 1 }, "1.5", "Enter a whole number."],
    [{ type: "number", exclusiveMinimum: 0 }, "0", "Enter more than 0."],
    [{ type: "number", minimum: 1 }, "", "Enter a number."],
    [{ type: "number", minimum: 1 }, "12 apples", "Enter a number."],
  ] as const)("explains %j %s", (schema, text, problem) => {
    expect(parseNumber(schema, text).problem).toContain(problem);
  });

  test("converts the chosen unit", () => {
    expect(parseNumber({ type: "integer", unit: "seconds" }, "1.5", minute)).toEqual({ value: 90 });
    expect(parseNumber({ type: "integer", unit: "seconds" }, "0.001", minute).problem).toBe(
      "Enter a whole number of seconds.",
    );
  });
});

const view = (value: object, etag = '"1"'): SettingsSectionView => ({
  section: "channels.pico",
  etag,
  value,
  editable: ["wait", "names", "on"],
  managedByEnv: { max: "SERVICE_MAX" },
  managedByFlag: { port: "-port" },
  schema: {
    properties: {
      wait: { type: "integer", minimum: 1, maximum: 600, unit: "seconds", section: "limits" },
      names: { type: "array", items: { type: "string", pattern: "^[a-z]+$" }, section: "access" },
      on: { type: "boolean" },
      max: { type: "integer", section: "limits" },
      port: { type: "integer" },
      host: { type: "string" },
    },
  },
});

describe("settingsOf", () => {
  test("puts settings into the sections of the page", () => {
    const found = settingsOf([view({ wait: 60 })]);
    expect(found.map(({ key, group, fixedBy }) => [key, group, fixedBy])).toEqual([
      ["wait", "limits", undefined],
      ["names", "access", undefined],
      ["on", "channel", undefined],
      ["max", "read-only", "Set by the environment variable SERVICE_MAX."],
      ["port", "read-only", "Set by the command-line option -port."],
      ["host", "read-only", "Edit config.json to change it."],
    ]);
    expect(found.map(({ stored }) => stored)).toEqual([60, [], false, "", "", ""]);
  });

  test("tells unsaved values from those of the file", () => {
    const [wait, names] = settingsOf([view({ wait: 60, names: ["a"] })]);
    const id = wait!.id;
    expect(draftOf(wait!, 60)).toEqual({ base: 60, text: "1", unit: "min" });
    expect(isChanged(wait!, {})).toBe(false);
    expect(isChanged(wait!, { [id]: { base: 60, text: "60", unit: "s" } })).toBe(false);
    expect(isChanged(wait!, { [id]: { base: 60, text: "2", unit: "min" } })).toBe(true);
    expect(isChanged(wait!, { [id]: { base: 60, text: "", unit: "min" } })).toBe(true);
    const typed = { base: ["a"], items: ["a"], text: "b a" };
    expect(read(names!, typed)).toEqual({ value: ["a", "b"] });
    expect(read(names!, { ...typed, text: "B2" }).problem).toContain("“B2”");
    expect(addItems(["a"], " b, c ")).toEqual(["a", "b", "c"]);
  });

  test("finds values that changed in the file", () => {
    const typed = { base: 60, text: "5", unit: "min" };
    const conflictOf = (stored: number): boolean => {
      const [wait] = settingsOf([view({ wait: stored })]);
      return hasConflict(wait!, { [wait!.id]: typed });
    };
    expect([60, 300, 90].map(conflictOf)).toEqual([false, false, true]);
  });
});
