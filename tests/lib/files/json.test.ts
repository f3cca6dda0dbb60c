import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { editJson, parseJson, readJson } from "../../../lib/files/index.ts";
import { temporaryFolder } from "./support.ts";
import { isObject } from "../../../lib/util.ts";

const path = ["channels", "pico", "enabled"];

describe("JSON files", () => {
  test("returns undefined for a missing file", async () => {
    expect(await readJson(join(temporaryFolder(), "none.json"))).toBeUndefined();
  });

  test("accepts and keeps a byte order mark", async () => {
    const file = join(temporaryFolder(), "a.json");
    writeFileSync(file, '\uFEFF{"a": 1}');
    expect(await readJson(file)).toEqual({ text: '\uFEFF{"a": 1}', value: { a: 1 } });
    expect(editJson('\uFEFF{"a": 1}', [{ path: ["a"], value: 2 }])).toBe('\uFEFF{"a": 2}');
  });

  test("treats __proto__ as an ordinary key", () => {
    const value = parseJson('{"__proto__": {"x": 1}, "a": {"__proto__": 2}}', "a.json");
    expect([Object.keys(value), Object.getPrototypeOf(value)]).toEqual([
      ["__proto__", "a"],
      Object.prototype,
    ]);
  });

  test.each([
    ["", "line 1, column 1: expected a JSON object, found an empty file. Write {} into it."],
    ["[1]", 'line 1, column 1: expected a JSON object between "{" and "}".'],
    ['\n "x"', 'line 2, column 2: expected a JSON object between "{" and "}".'],
    ['{\n  "a": 1,\n}', "line 3, column 1: expected a key in double quotes."],
    ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3: expected a "," between two entries.'],
    ['{"a" 1}', 'line 1, column 6: expected a ":" after the key.'],
    ['{"a": "x\n"}', "line 1, column 7: expected a closing double quote on the same line."],
    ['{"a": 1', 'line 1, column 8: expected a "}" that closes the object.'],
    ['{"a": 1} {}', "line 1, column 10: expected the end of the file."],
    ["{\n// c\n}", "line 2, column 1: expected no comment; JSON has none."],
    ['{"a": "\\x"}', 'line 1, column 7: expected a known escape such as \\n, \\" or \\\\.'],
    [
      '{"a": 1, "b": {"c": 1, "d": [], "c": 2}}',
      "line 1, column 33: expected every key once in an object.",
    ],
    ['{"a": 1, "\\u0061": 2}', "line 1, column 10: expected every key once in an object."],
    ['{"a": "\uFFFD', "line 1, column 7: expected a closing double quote on the same line."],
  ])("%j is corrupt: %s", async (text, sentence) => {
    const file = join(temporaryFolder(), "a.json");
    writeFileSync(file, text);
    await expect(readJson(file)).rejects.toMatchObject({
      code: "FILE_CORRUPT",
      message: expect.stringContaining(`${file}, ${sentence}`),
    });
  });

  test("rejects a file that is not UTF-8, and a folder", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "a.json"), Buffer.from('{\n"a": "\xff"}', "latin1"));
    await expect(readJson(join(folder, "a.json"))).rejects.toThrow(
      "line 2, column 7: expected text in UTF-8",
    );
    await expect(readJson(folder)).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
  });

  test("quotes nothing of a corrupt file in the error", () => {
    const secret = "Zq9secretZq9";
    const noise = fc.constantFrom("", '"', "}", "{", ",", "\\", "\n", "x", ":", "'");
    const damaged = fc.tuple(fc.nat(60), noise).map(([at, put]) => {
      const whole = `{"${secret}": "${secret}", "b": {"token": "${secret}"}}`;
      return whole.slice(0, at) + put + whole.slice(at + 1);
    });
    fc.assert(
      fc.property(damaged, (text) => !thrownBy(() => parseJson(text, "a.json")).includes("Zq9")),
    );
  });

  function thrownBy(run: () => unknown): string {
    try {
      run();
      return "";
    } catch (error) {
      const { code, message, stack, details } = error as Error & { code: string; details: object };
      expect(code).toBe("FILE_CORRUPT");
      return message + stack + JSON.stringify(details);
    }
  }

  test.each([
    [undefined, '{\n  "channels": {\n    "pico": {\n      "enabled": true\n    }\n  }\n}\n'],
    ['{"a":1}', '{"a":1,"channels":{"pico":{"enabled":true}}}'],
    ['{"channels": {"pico": null}}', '{"channels": {"pico": {"enabled":true}}}'],
    [
      '{\n    "channels": {\n        "pico": { "x": 1 }\n    }\n}',
      '{\n    "channels": {\n        "pico": { "x": 1, "enabled": true }\n    }\n}',
    ],
    [
      '{\r\n\t"channels": {\r\n\t}\r\n}',
      '{\r\n\t"channels": {\r\n\t\t"pico": {\r\n\t\t\t"enabled": true\r\n\t\t}\r\n\t}\r\n}',
    ],
    [
      '{ "channels": {"pico" : {"enabled" :  false}}, "id": 12345678901234567890 }',
      '{ "channels": {"pico" : {"enabled" :  true}}, "id": 12345678901234567890 }',
    ],
  ])("setting a key in %j keeps its layout", (text, expected) => {
    expect(editJson(text, [{ path, value: true }])).toBe(expected);
  });

  test.each([
    ['{"a": 1, "b": 2}', '{"b": 2}'],
    ['{"b": 2, "a": 1}', '{"b": 2}'],
    ['{\n  "b": 2,\n  "a": 1,\n  "c": 3\n}\n', '{\n  "b": 2,\n  "c": 3\n}\n'],
    ['{"a": 1}\n', "{}\n"],
    ['{"b":  2}', '{"b":  2}'],
  ])("removing a key from %j takes one comma with it", (text, expected) => {
    expect(editJson(text, [{ path: ["a"], remove: true }])).toBe(expected);
  });

  test("names a parent that is not an object", () => {
    const edit = () => editJson('{"channels": ["x"]}', [{ path, value: true }], "config.json");
    expect(edit).toThrow(
      'config.json was not changed: a parent of "channels.pico.enabled" is not an object.',
    );
  });

  const key = fc.oneof(
    fc.constantFrom("channels", "pico", "enabled", "__proto__", "a"),
    fc.string({ maxLength: 6 }),
  );
  const json = fc.letrec<{ tree: object; any: unknown }>((tie) => ({
    tree: fc.dictionary(key, tie("any"), { maxKeys: 5 }),
    any: fc.oneof(
      { depthSize: "small" },
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie("any"), { maxLength: 3 }),
      tie("tree"),
    ),
  })).tree;
  const layout = fc.record({
    space: fc.constantFrom("", "  ", "\t", "    "),
    crlf: fc.boolean(),
    end: fc.constantFrom("", "\n"),
  });
  const printed = ({
    tree,
    space,
    crlf,
    end,
  }: {
    tree: object;
    space: string;
    crlf: boolean;
    end: string;
  }) => (JSON.stringify(tree, null, space) + end).replaceAll("\n", crlf ? "\r\n" : "\n");

  // After an object with the key "\\", V8 of Node 26 reads any escape in the same place of another
  // object as that key. An edit compares its result and is refused.
  const misreadsEscapes = Number(process.versions.node.split(".", 1)[0]) >= 26;

  /** Leaves out documents in which a key looks like one of the path: an edit rejects them. */
  function editUnlessAlike(text: string, path: readonly string[], value: unknown): string {
    try {
      return editJson(text, [{ path, value }]);
    } catch (error) {
      fc.pre(!String(error).includes("The key there looks like it"));
      throw error;
    }
  }

  test("changes only the edited path of any document", () => {
    const run = fc.record({
      tree: json,
      path: fc.array(key, { minLength: 1, maxLength: 4 }),
      value: fc.jsonValue(),
    });
    fc.assert(
      fc.property(run, layout, ({ tree, path: place, value }, how) => {
        const text = printed({ tree, ...how });
        fc.pre(!misreadsEscapes || !JSON.stringify([tree, place, value]).includes("\\"));
        const parents = place.slice(0, -1).map((_, depth) => at(tree, place.slice(0, depth + 1)));
        fc.pre(parents.every((each) => each === undefined || each === null || isObject(each)));
        const next = editUnlessAlike(text, place, value);
        expect(at(JSON.parse(next), place)).toEqual(JSON.parse(JSON.stringify(value)));
        const before = common(text, next);
        const behind = common(reversed(text.slice(before)), reversed(next.slice(before)));
        expect(without(JSON.parse(next), place)).toEqual(without(JSON.parse(text), place));
        const lost = text.slice(before, text.length - behind);
        if (at(tree, place) === undefined) expect(lost).toMatch(/^(null|\s*)$/);
        expect(editJson(next, [{ path: place, value }])).toBe(next);
      }),
      { numRuns: 300 },
    );
  });

  const at = (tree: unknown, place: readonly string[]): unknown =>
    place.reduce<unknown>(
      (node, name) => (isObject(node) && Object.hasOwn(node, name) ? node[name] : undefined),
      tree,
    );

  /** The tree without `place` and the parents that become empty. */
  function without(tree: unknown, [name = "", ...rest]: readonly string[]): unknown {
    if (!isObject(tree)) return null;
    const others = Object.entries(tree).filter(([each]) => each !== name);
    const inner = rest.length > 0 ? without(tree[name], rest) : null;
    const kept = isObject(inner) && Object.keys(inner).length > 0 ? [[name, inner] as const] : [];
    return Object.fromEntries([...others, ...kept]);
  }

  const reversed = (text: string) => text.split("").reverse().join("");

  function common(left: string, right: string): number {
    let length = 0;
    while (length < left.length && left[length] === right[length]) length++;
    return length;
  }
});
