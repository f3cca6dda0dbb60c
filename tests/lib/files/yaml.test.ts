import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { editYaml, findYamlText, parseYaml, readYaml } from "../../../lib/files/index.ts";
import { temporaryFolder } from "./support.ts";
import { runs } from "../../support/runs.ts";

const path = ["channels", "pico", "token"];

describe("YAML files", () => {
  test("returns undefined without a file and {} for an empty one", async () => {
    const file = join(temporaryFolder(), ".security.yml");
    expect(await readYaml(file)).toBeUndefined();
    for (const text of ["", "# only\n", "---\n", "\uFEFF"]) {
      writeFileSync(file, text);
      expect(await readYaml(file)).toEqual({ text, value: {} });
    }
  });

  test("follows YAML 1.2 and keeps the digits of numbers", () => {
    const text = "a: yes\nb: 12345678901234567890\nc: 0012\nd: 12\ne: 1e3\nf: on\n";
    const value = { a: "yes", b: "12345678901234567890", c: "0012", d: 12, e: "1e3", f: "on" };
    expect(parseYaml(text, "a")).toEqual(value);
  });

  test.each([
    ["a: 1\nb: 2\na: 3", "line 3, column 1: expected every key once in a map."],
    ["a:\n\t- x", "line 2, column 1: expected spaces, not tabs, as indentation."],
    ["- 1", 'line 1, column 1: expected a map of "key: value" lines at the top.'],
    ["\n  x\n", 'line 2, column 3: expected a map of "key: value" lines at the top.'],
    ["a: *b", "line 1, column 4: expected the name of an anchor defined above."],
    ["a: 'x", "line 1, column 6: expected a closing quote, brace or bracket, or a colon or comma."],
    ["a: b: c", 'line 1, column 4: expected one "key: value" per line'],
    ["a: 1\n---\nb: 2", 'line 2, column 1: expected one document; remove the second "---".'],
  ])("%j is corrupt: %s", async (text, sentence) => {
    const file = join(temporaryFolder(), ".security.yml");
    writeFileSync(file, text);
    await expect(readYaml(file)).rejects.toMatchObject({
      code: "FILE_CORRUPT",
      message: expect.stringContaining(`${file}, ${sentence}`),
    });
  });

  test("rejects multiplying aliases quickly", () => {
    const letters = "bcdefghij".split("");
    const bomb = letters.map(
      (name, i) => `${name}: &${name} [${Array(9).fill(`*${"abcdefghij"[i]}`).join(",")}]`,
    );
    expect(() => parseYaml(`a: &a [x,x,x]\n${bomb.join("\n")}`, "a")).toThrow(
      "expected at most 100 uses of an anchor",
    );
  });

  test("quotes nothing of a corrupt file in the error", () => {
    const secret = "Zq9secretZq9";
    const whole =
      `channels:\n  ${secret}: &${secret} ${secret}\n` +
      `  pico: { token: "${secret}" }\n  x: *${secret}\n`;
    const put = fc.constantFrom(
      "",
      '"',
      "}",
      "{",
      "\t",
      "\\",
      "\n",
      "*",
      ": ",
      "'",
      "&",
      "!",
      "@",
      "  ",
      "- ",
      "%",
    );
    fc.assert(
      fc.property(fc.nat(whole.length), put, (at, text) => {
        expect(thrownBy(whole.slice(0, at) + text + whole.slice(at + 1))).not.toContain("Zq9");
      }),
      { numRuns: runs(300) },
    );
  });

  function thrownBy(text: string): string {
    try {
      parseYaml(text, "a");
      return "";
    } catch (error) {
      const { code, message, stack, details } = error as Error & { code: string; details: object };
      expect(code).toBe("FILE_CORRUPT");
      return message + stack + JSON.stringify(details);
    }
  }

  describe("editYaml", () => {
    test("starts a new file with a comment on version control", () => {
      const text = editYaml(undefined, path, "new");
      expect(text).toMatch(
        /^# [^\n]*secret[^]*version control[^]*\nchannels:\n {2}pico:\n {4}token: "new"\n?$/i,
      );
    });

    test.each([
      [
        "channels:\n    pico:\n        token: old # c\n        x: 0x1F\n",
        'channels:\n    pico:\n        token: "new" # c\n        x: 0x1F\n',
      ],
      ["channels:\n  pico:\n    token: 'old'\n", "channels:\n  pico:\n    token: 'new'\n"],
      [
        "channels:\r\n  pico:\r\n    token: old\r\n    x: 1",
        'channels:\r\n  pico:\r\n    token: "new"\r\n    x: 1',
      ],
      [
        "channels:\n  pico:\n    token: |\n      old\n    x: 1\n",
        'channels:\n  pico:\n    token: "new"\n    x: 1\n',
      ],
      ["channels:\n  pico:\n    token: &a # c\n", 'channels:\n  pico:\n    token: &a "new" # c\n'],
      [
        "channels:\n  pico:\n    token:   # c\n    x: 1\n",
        'channels:\n  pico:\n    token: "new"   # c\n    x: 1\n',
      ],
      [
        "channels: # c\n  # d\nother: 1\n",
        'channels: # c\n  pico:\n    token: "new"\n  # d\nother: 1\n',
      ],
      ["channels: ~ # c\n", 'channels: { pico: { token: "new" } } # c\n'],
      ["channels: {}\n", 'channels: {pico: { token: "new" }}\n'],
      ["channels: {pico: {token}}", 'channels: {pico: {token: "new"}}'],
      ['{"channels":{"pico":{"x":1}}}', '{"channels":{"pico":{"x":1, "token": "new"}}}'],
      [
        "channels:\n    telegram:\n        token: a # t\n# end\nbig: 123456789012345678\n",
        'channels:\n    telegram:\n        token: a # t\n    pico:\n        token: "new"\n' +
          "# end\nbig: 123456789012345678\n",
      ],
      ["a: 1\n...\n", 'a: 1\nchannels:\n  pico:\n    token: "new"\n...\n'],
      ["---\n# c\n", '---\n# c\nchannels:\n  pico:\n    token: "new"\n'],
      ["\uFEFFa: 1\n", '\uFEFFa: 1\nchannels:\n  pico:\n    token: "new"\n'],
    ])("%j", (before, after) => {
      expect(editYaml(before, path, "new")).toBe(after);
    });

    test.each([
      "channels: [x]\n",
      "channels: text\n",
      "channels:\n  pico:\n    token: &a old\n  other: *a\n",
    ])("%j is refused with the lines to add by hand", (text) => {
      const refused = {
        code: "FILE_EDIT_REFUSED",
        message: expect.stringMatching(/channels:\n {2}pico:\n {4}token:/),
      };
      expect(() => editYaml(text, path, "new-secret")).toThrow(expect.objectContaining(refused));
      expect(() => editYaml(text, path, "new-secret")).not.toThrow("new-secret");
    });
  });

  /*
   * Random documents: block and flow maps, comments, quoting, anchors, lists, odd indentation, and
   * both line endings.
   */
  type Render = (indent: string, step: string) => string;
  const name = fc.constantFrom(
    "pico",
    "telegram",
    "token",
    "x",
    "y-1",
    "'quoted'",
    '"double"',
    "12",
  );
  const plain = fc.constantFrom("plain", "12345678901234567890", "0x1F", "1.50", "~", "", "yes");
  const scalar = fc.oneof(plain, fc.constantFrom('"d \\u00e9"', "'s'", "&anchor v"));
  const comment = fc.constantFrom("", "", "  # note", " #: { odd");
  const emptyFlow = fc.constantFrom("{}", "{ }", "{token}");
  const flow = fc.oneof(
    emptyFlow,
    fc.constantFrom("{a: 1}", "{ a: {b: [1,2]}, token: old }", '{"token":"old","q":1}', "{a: 1,}"),
  );
  const list = fc.constantFrom("- a\n- b: 1", "- {x: 1}\n-   y");
  const block = fc.constantFrom("|\n  text: a\n  # not a comment", ">-\n  folded\n\n  lines");

  const map: fc.Memo<Render> = fc.memo((depth) => {
    const value: fc.Arbitrary<Render> = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.tuple(scalar, comment).map(
          ([text, note]) =>
            () =>
              ` ${text}${note}`,
        ),
      },
      {
        weight: 2,
        arbitrary: fc.tuple(flow, comment).map(
          ([text, note]) =>
            () =>
              ` ${text}${note}`,
        ),
      },
      {
        weight: 1,
        arbitrary: list.map((text) => (indent: string) => `\n${indented(text, `${indent}  `)}`),
      },
      {
        weight: 1,
        arbitrary: block.map(
          (text) => (indent: string) => ` ${text.replaceAll("\n", `\n${indent}`)}`,
        ),
      },
      { weight: 4, arbitrary: depth > 1 ? below(depth - 1) : fc.constant<Render>(() => "") },
    );
    const gap = fc.constantFrom("", "", "\n", "# between\n");
    const entries = fc.uniqueArray(fc.tuple(name, value, gap), {
      minLength: 1,
      maxLength: 4,
      selector: ([key]) => key,
    });
    const line =
      (key: string, render: Render, between: string): Render =>
      (indent, step) =>
        `${between && indented(between, indent)}${indent}${key}:${render(indent, step)}`;
    return entries.map(
      (all) =>
        (...how) =>
          all.map((entry) => line(...entry)(...how)).join("\n"),
    );
  });

  const below = (depth: number): fc.Arbitrary<Render> =>
    fc.tuple(map(depth), comment).map(
      ([render, note]) =>
        (indent, step) =>
          `${note}\n${render(indent + step, step)}`,
    );

  const indented = (text: string, indent: string) => text.replace(/^(?=.)/gm, indent);

  const document = fc
    .record({
      head: fc.constantFrom("", "# head\n", "---\n"),
      body: fc.oneof(
        map(3),
        below(3).map(
          (render): Render =>
            (indent, step) =>
              `channels:${render(indent, step)}`,
        ),
      ),
      step: fc.constantFrom("  ", "    ", "   ", " "),
      tail: fc.constantFrom("", "\n", "\n# tail\n", "\n\n\n"),
      crlf: fc.boolean(),
    })
    .map(({ head, body, step, tail, crlf }) =>
      (head + body("", step) + tail).replaceAll("\n", crlf ? "\r\n" : "\n"),
    );

  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);

  function set(tree: unknown, [key = "", ...rest]: readonly string[], value: string): object {
    const base = isMap(tree) ? tree : {};
    return { ...base, [key]: rest.length === 0 ? value : set(base[key], rest, value) };
  }

  test("changes only the edited path of any document", () => {
    const keys = fc.constantFrom("channels", "pico", "telegram", "token", "n");
    const place = fc.oneof(fc.constant(path), fc.array(keys, { minLength: 1, maxLength: 3 }));
    const outcome = { edited: 0, refused: 0 };
    fc.assert(
      fc.property(
        document,
        place,
        fc.string({ unit: "grapheme", maxLength: 20 }),
        (text, at, value) => {
          const old = readable(text);
          fc.pre(old !== undefined);
          const next = editedOrRefused(text, at, value);
          outcome[next === undefined ? "refused" : "edited"]++;
          if (next === undefined) return;
          expect(parseYaml(next, "a")).toEqual(set(old, at, value));
          const before = common(text, next);
          const behind = common(reversed(text.slice(before)), reversed(next.slice(before)));
          const lost = text.slice(before, text.length - behind);
          const replaced = at.reduce<unknown>(
            (node, key) => (isMap(node) ? node[key] : undefined),
            old,
          );
          if (!String(replaced).includes("\n")) expect(lost).not.toMatch(/[#\n:]/);
          const crlf = text.includes("\r\n");
          if (crlf) expect(next).not.toMatch(/[^\r]\n/);
          else expect(next).not.toContain("\r");
        },
      ),
      { numRuns: runs(600) },
    );
    expect(outcome.edited).toBeGreaterThan(outcome.refused);
  });

  function readable(text: string): object | undefined {
    try {
      return parseYaml(text, "a");
    } catch {
      return undefined;
    }
  }

  function editedOrRefused(text: string, at: string[], value: string): string | undefined {
    try {
      return editYaml(text, at, value);
    } catch (error) {
      expect((error as { code: string }).code).toBe("FILE_EDIT_REFUSED");
      return undefined;
    }
  }

  const reversed = (text: string) => text.split("").reverse().join("");

  function common(left: string, right: string): number {
    let length = 0;
    while (length < left.length && left[length] === right[length]) length++;
    return length;
  }
});

test("prints no key of a value in double braces", () => {
  const warnings: unknown[] = [];
  const note = (warning: unknown): void => void warnings.push(warning);
  vi.spyOn(process, "emitWarning").mockImplementation(note);
  onTestFinished(() => void vi.restoreAllMocks());
  const text = "channels:\n  pico:\n    token: {{ SECRET_NAME }}\n";
  const value = parseYaml(text, "a.yml");
  findYamlText({ text, value }, ["channels", "pico", "token"], "a.yml");
  expect(warnings).toEqual([]);
});
