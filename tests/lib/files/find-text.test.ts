// Tests the lookup of texts, such as tokens, in YAML and JSON files.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import {
  editJson,
  editYaml,
  findJsonText,
  findYamlText,
  parseJson,
  parseYaml,
  type FoundText,
} from "../../../lib/files/index.ts";

const keys = ["channels", "pico", "token"];
const inYaml = (text: string): FoundText =>
  findYamlText({ text, value: parseYaml(text, "a.yml") }, keys, "a.yml");
const inJson = (text: string): FoundText =>
  findJsonText({ text, value: parseJson(text, "a.json") }, keys, "a.json");
const line = (value: string): FoundText => inYaml(`channels:\n  pico:\n    token:${value}\n`);
const placeOf = ({ problem }: FoundText) => problem?.place.replace(/^a\.(yml|json), /, "");

describe("findYamlText", () => {
  test.each([
    [" abc", "abc"],
    [" 'abc'", "abc"],
    [' "a\\tb"', "a\tb"],
    [" !!str 123", "123"],
    [" 0012", "0012"],
    [" 0x1F", "0x1F"],
    [" 1.50", "1.50"],
    [" &name abc", "abc"],
    [" abc # a comment", "abc"],
    ["\n      abc", "abc"],
    [" |\n      abc", "abc\n"],
    [" >-\n      abc", "abc"],
  ])("finds the text of %j", (value, text) => expect(line(value)).toEqual({ text }));

  test.each(["", " ", " ''", ' " "', " # a comment", "\n    # token: abc"])(
    "finds no value in %j",
    (value) => expect(line(value)).toEqual({ text: undefined }),
  );

  test.each([
    [" &abc", 12],
    ["   &abc", 14],
    [" !abc", 12],
    [" !abc def", 12],
    [" !!binary abc", 12],
    [" !!int 123", 12],
    [" !!str", 12],
    [" &abc ''", 12],
    [" ~", 12],
    [" null", 12],
    [" #abc", 12],
    [" true", 12],
    [" [a]", 12],
    [" { a: b }", 12],
    ["\n      - a", 7],
    [" |", 12],
    [" >-", 12],
    [" |\n      abc\n      def", 12],
    [" >\n      abc\n      def", 12],
    [" abc\n      def", 12],
    [" 'abc\n      def'", 12],
  ])("rejects %j with line and column", (value, column) => {
    const found = line(value);
    const number = value.startsWith("\n") ? 4 : 3;
    expect(placeOf(found)).toBe(`line ${number}, column ${column}`);
    expect(found.problem).toMatchObject({
      key: "channels.pico.token",
      expected: expect.stringContaining("text in quotation marks"),
    });
  });

  test("resolves aliases of maps and texts", () => {
    const text = "x: &x { token: &t abc }\nchannels: { pico: *x }\n";
    expect(inYaml(text)).toEqual({ text: "abc" });
    expect(inYaml("x: &x abc\nchannels: { pico: { token: *x } }\n")).toEqual({ text: "abc" });
    expect(placeOf(inYaml("x: &x [a]\nchannels: { pico: { token: *x } }\n"))).toBe(
      "line 2, column 28",
    );
  });

  test.each([
    ["channels: abc\n", "line 1, column 11", "channels"],
    ["channels:\n  - pico\n", "line 2, column 3", "channels"],
    ["channels:\n  pico:\n    token:abc\n", "line 3, column 5", "channels.pico"],
    ["channels:\n  pico:\n  token: abc\n", "line 3, column 3", "channels.pico.token"],
    ["channels:\npico:\n  token: abc\n", "line 2, column 1", "channels.pico"],
    ["\uFEFFchannels:\r\n  pico: 7\r\n", "line 2, column 9", "channels.pico"],
  ])("rejects a wrong parent: %j", (text, place, key) => {
    const found = inYaml(text);
    expect(placeOf(found)).toBe(place);
    expect(found.problem?.key).toBe(key);
  });

  test.each(["", "# nothing\n", "{}\n", "channels:\n", "channels:\n  pico:\n", "other: 1\n"])(
    "finds no value without the path: %j",
    (text) => expect(inYaml(text)).toEqual({ text: undefined }),
  );

  test("finds every text that a YAML library writes, and quotes no content", () => {
    const token = fc.stringMatching(/^[!-~]{1,40}$/);
    fc.assert(
      fc.property(token, (value) => {
        expect(inYaml(stringify({ channels: { pico: { token: value } } }))).toEqual({
          text: value,
        });
      }),
    );
    fc.assert(
      fc.property(fc.constantFrom("&", "!", "#", "[", "- "), (sign) => {
        const { problem } = line(`\n      ${sign}Zq9${sign === "[" ? "]" : ""}`);
        expect(JSON.stringify(problem ?? {})).not.toContain("Zq9");
      }),
    );
  });
});

describe("findJsonText", () => {
  const entry = (value: string): FoundText =>
    inJson(`{\n  "channels": { "pico": { "token": ${value} } }\n}`);

  test.each([
    ['"abc"', "abc"],
    ["1234567890", "1234567890"],
  ])("finds the text of %s", (value, text) => expect(entry(value)).toEqual({ text }));

  test.each(["null", '""', '" "'])("finds no value in %s", (value) =>
    expect(entry(value)).toEqual({ text: undefined }),
  );

  test.each(["true", "[1]", "{}", "1.0", "1e8", "-0", "12345678901234567890123"])(
    "rejects %s with line and column",
    (value) => expect(placeOf(entry(value))).toBe("line 2, column 36"),
  );

  test.each([
    ['{"channels": []}', "line 1, column 14"],
    ['{"channels": {"pico": "abc"}}', "line 1, column 23"],
  ])("rejects a wrong parent: %s", (text, place) => expect(placeOf(inJson(text))).toBe(place));
});

describe("A key that looks like the known one", () => {
  const nbsp = "\u00a0";
  const yaml = (...lines: readonly string[]): string => `${lines.join("\n")}\n`;
  const corrupt = (line: number, column: number, key: string) =>
    expect.objectContaining({
      code: "FILE_CORRUPT",
      details: expect.objectContaining({ line, column }),
      message: expect.stringContaining(`the key "${key}" in exactly these letters`),
    });
  const errorOf = (run: () => unknown): unknown => {
    try {
      return { value: run() };
    } catch (error) {
      return error;
    }
  };

  test.each([
    ["a capital", yaml("channels:", "  pico:", "    Token: abc"), 3, 5, "token"],
    ["a no-break space", yaml("channels:", "  pico:", `    ${nbsp}token: abc`), 3, 5, "token"],
    ["a joiner", yaml("channels:", "  pico:", "    to\u200dken: abc"), 3, 5, "token"],
    ["a wide letter", yaml("channels:", "  pico:", "    ｔoken: abc"), 3, 5, "token"],
    ["a Cyrillic letter", yaml("channels:", "  pico:", "    tоken: abc"), 3, 5, "token"],
    ["quotes around a space", yaml("channels:", "  pico:", '    "token ": abc'), 3, 5, "token"],
    ["the name of the channel", yaml("channels:", "  Pico:", "    token: abc"), 2, 3, "pico"],
    ["the outermost key", yaml("сhannels:", "  pico:", "    token: abc"), 1, 1, "channels"],
    ["an indentation", yaml("channels:", `${nbsp}${nbsp}pico:`, "    token: a"), 2, 1, "pico"],
    ["a deep one", yaml("channels:", "  pico:", `${nbsp}${nbsp}  token: a`), 3, 1, "token"],
    ["a second key", yaml("channels:", "  pico:", "    token: a", "    TOKEN: b"), 4, 5, "token"],
  ])("causes an error in YAML: %s", (_, text, row, column, key) => {
    expect(errorOf(() => inYaml(text))).toEqual(corrupt(row, column, key));
    expect(errorOf(() => editYaml(text, keys, "new", "a.yml"))).toEqual(corrupt(row, column, key));
  });

  test.each([
    ["a capital", '{"channels": {"pico": {"Token": "abc"}}}', 24, "token"],
    ["a no-break space", `{"channels": {"pico": {"${nbsp}token": "abc"}}}`, 24, "token"],
    ["an escape", '{"channels": {"pico": {"t\\u043eken": "abc"}}}', 24, "token"],
    ["the name of the channel", '{"channels": {"pіco": {"token": "abc"}}}', 15, "pico"],
    ["the outermost key", '{"Channels": {"pico": {"token": "abc"}}}', 2, "channels"],
  ])("causes an error in JSON: %s", (_, text, column, key) => {
    const edit = { path: keys, value: "new" };
    expect(errorOf(() => inJson(text))).toEqual(corrupt(1, column, key));
    expect(errorOf(() => editJson(text, [edit], "a.json"))).toEqual(corrupt(1, column, key));
  });

  test("counts as another key if a reader can tell them apart", () => {
    const text = yaml("channels:", "  pico_client: {token: b}", "  pico:", "    tokens: c");
    expect(inYaml(text)).toEqual({ text: undefined });
  });
});
