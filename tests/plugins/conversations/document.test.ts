// Tests tool calls in Markdown documents.
import { describe, expect, test } from "vitest";
import { readCalls } from "../../../plugins/conversations/index.ts";
import { toSection } from "../../../plugins/conversations/document.ts";

const section = (toolCalls: readonly unknown[], content = ""): string =>
  toSection({
    id: "t",
    seq: 1,
    role: "assistant",
    kind: "tool_calls",
    content,
    toolCalls,
    at: 0,
  }).replace(/^\n## .*\n/, "");
const call = (name: string, text: string, more: object = {}): object => ({
  id: "c",
  function: { name, arguments: text },
  ...more,
});

describe("toSection", () => {
  test("writes a call without arguments and its error", () => {
    expect(section([call("*run*\n", "", { result: "no", error: "it failed" })], "two calls")).toBe(
      "\ntwo calls\n\n**\\*run\\* **\n\nError:\n\n```\nit failed\n```\n",
    );
  });

  test("fences text with more backticks than it contains", () => {
    expect(section([call("f", "a ```` b", { result: "x" })])).toBe(
      "\n**f**\n\n`````\na ```` b\n`````\n\nResult:\n\n```\nx\n```\n",
    );
  });

  test("shortens long text between characters", () => {
    const text = `${"a".repeat(1_999)}${"😀".repeat(10)}`;
    expect(section([call("f", text)])).toBe(
      `\n**f**\n\n\`\`\`\n${"a".repeat(1_999)}\n\`\`\`\n\n(20 more characters)\n`,
    );
  });
});

describe("readCalls", () => {
  test("reads other values as JSON, and calls without a name", () => {
    expect(readCalls({ toolCalls: [call("f", "{}", { result: { n: 1 } }), 7, null] })).toEqual([
      { name: "f", arguments: "{}", result: '{"n":1}' },
      { name: "Tool", arguments: "" },
      { name: "Tool", arguments: "" },
    ]);
    expect(readCalls({})).toEqual([]);
  });
});
