// Tests tool calls in Markdown documents.
import { describe, expect, test } from "vitest";
import { readCalls, turnEnd } from "../../../plugins/conversations/index.ts";
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

describe("turnEnd", () => {
  test("names the outcome and the sentence of the application", () => {
    const failed = { role: "user", outcome: "failed", code: "application_refused" } as const;
    expect(turnEnd({ ...failed, message: "The disk is full." })).toBe("failed: The disk is full.");
    expect(turnEnd(failed)).toBe("failed: application_refused");
    expect(turnEnd({ role: "user", outcome: "stopped", code: "not_running" })).toBe("stopped");
    expect(turnEnd({ role: "user", outcome: "completed" })).toBeUndefined();
  });

  test("appears in the section of a message", () => {
    const end = { outcome: "failed", message: "a *b*" } as const;
    const turn = { id: "t", seq: 1, role: "user", content: "hello", at: 0, ...end } as const;
    expect(toSection(turn).split("\n").slice(3)).toEqual(["hello", "", "(failed: a \\*b\\*)", ""]);
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
