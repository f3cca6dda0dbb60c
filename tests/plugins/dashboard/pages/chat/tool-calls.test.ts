// Tests what the page shows of a tool call.
import { expect, test } from "vitest";
import { readToolCall } from "../../../../../plugins/dashboard/pages/chat/tool-calls.ts";

test("keeps long arguments and results whole", () => {
  const text = "a".repeat(100_000);
  const call = readToolCall({ name: "read", arguments: { text }, result: text });
  expect(JSON.parse(call.input!)).toEqual({ text });
  expect(call.output).toBe(text);
});

test("names a step by its title, else by its function", () => {
  const call = { name: "edit_file", arguments: {} };
  expect(readToolCall({ ...call, title: "Fix the greeting" }).name).toBe("Fix the greeting");
  expect(readToolCall(call).name).toBe("edit_file");
});
