// Tests the names of the states of steps and plans.
import { describe, expect, test } from "vitest";
import { callFields, planEntry } from "../../../plugins/channels/step-schema.ts";

describe("planEntry", () => {
  test.each([
    ["in_progress", "running"],
    ["todo", "pending"],
    ["done", "completed"],
    ["failed", "failed"],
  ])("reads %s as %s, also from status", (given, state) => {
    const entry = { content: "Test", state };
    expect(planEntry.parse({ content: "Test", state: given })).toEqual(entry);
    expect(planEntry.parse({ content: "Test", status: given })).toEqual(entry);
    expect(callFields.state.parse(given)).toBe(state);
  });

  test("rejects an unknown state", () => {
    expect(planEntry.safeParse({ content: "Test", state: "perhaps" }).success).toBe(false);
    expect(callFields.state.safeParse("perhaps").success).toBe(false);
  });
});
