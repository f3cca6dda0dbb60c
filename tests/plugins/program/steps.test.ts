import { describe, expect, test } from "vitest";
import { fitDetails, maxDetailBytes, planText } from "../../../lib/step-details.ts";
import { parseFrame, toOutbound, type CreateFrame } from "../../../plugins/program/protocol.ts";
import { startProgram, waitFor } from "../../support/program-harness.ts";

const call = { id: "c1", function: { name: "edit", arguments: "{}" } };
const line = (payload: object): CreateFrame | string =>
  parseFrame({ type: "message.create", payload: { request_id: "1", ...payload } }) as CreateFrame;
const read = (payload: object) => {
  const frame = line(payload);
  if (typeof frame === "string") throw new Error(frame);
  return toOutbound(frame.payload);
};

describe("steps of a program", () => {
  test("keep their title, kind, state, details and locations", () => {
    const step = {
      title: "Edit a.txt",
      kind: "edit",
      state: "completed",
      details: [
        { type: "diff", path: "a.txt", old: "a", new: "b" },
        { type: "terminal", text: "ok", exit: 0 },
        { type: "text", text: "done" },
      ],
      locations: [{ path: "a.txt", line: 3 }],
    };
    const { toolCalls } = read({ kind: "tool_calls", tool_calls: [{ ...call, ...step }] });
    expect(toolCalls).toEqual([{ id: "c1", name: "edit", arguments: "{}", ...step }]);
  });

  test.each([
    ["state", { state: "perhaps" }],
    ["details.0", { details: [{ type: "video", path: "a" }] }],
    ["details.0.new", { details: [{ type: "diff", path: "a" }] }],
    ["locations.0.line", { locations: [{ path: "a", line: 0 }] }],
  ])("fail with an invalid %s", (field, step) => {
    expect(line({ kind: "tool_calls", tool_calls: [{ ...call, ...step }] })).toContain(field);
  });

  test("stay when an update repeats one of them", async () => {
    await using harness = await startProgram(`each((m) => {
      const call = (id, more) => ({ id, function: { name: "f" + id, arguments: "{}" }, ...more });
      const payload = { request_id: m.id, message_id: "c", kind: "tool_calls", final: false };
      const tool_calls = ["1", "2", "3"].map((id) => call(id, { state: "running", title: "t" + id }));
      say({ type: "message.create", payload: { ...payload, tool_calls } });
      const done = [call("2", { title: "t2", state: "completed", result: "ok" })];
      say({ type: "message.update", payload: { message_id: "c", tool_calls: done, final: false } });
    });`);
    const said = harness.say("go");
    const states = async () =>
      (await harness.seen.next("a frame")).message!.toolCalls!.map(({ id, title, state }) => [
        id,
        title,
        state,
      ]);
    expect(await states()).toEqual([
      ["1", "t1", "running"],
      ["2", "t2", "running"],
      ["3", "t3", "running"],
    ]);
    expect(await states()).toEqual([
      ["1", "t1", "running"],
      ["2", "t2", "completed"],
      ["3", "t3", "running"],
    ]);
    await harness.halt("m1");
    await expect(said).rejects.toMatchObject({ code: "stopped" });
  });

  test("replace a plan in place", async () => {
    await using harness = await startProgram(`each((m) => {
      const payload = { request_id: m.id, message_id: "p", kind: "plan" };
      const entries = [{ content: "Look", state: "running" }];
      say({ type: "message.create", payload: { ...payload, entries } });
      entries[0].state = "completed";
      say({ type: "message.update", payload: { message_id: "p", entries, final: true } });
      answer(m, "done");
    });`);
    await harness.say("go");
    const seen = [await harness.seen.next("a"), await harness.seen.next("b")];
    expect(seen.map(({ message }) => message)).toMatchObject([
      { kind: "plan", content: "- [ ] **Running:** Look", entries: [{ state: "running" }] },
      { kind: "plan", content: "- [x] Look", entries: [{ state: "completed" }] },
    ]);
    await waitFor(() => harness.status().answered === 1);
  });
});

describe("fitDetails", () => {
  const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

  test("keeps the end of terminal output and drops a large diff", () => {
    const text = "\u0000é😀".repeat(60_000) + "end";
    const [fitting] = fitDetails([
      {
        details: [
          { type: "diff", path: "a", new: "x".repeat(maxDetailBytes) },
          { type: "terminal", text },
          { type: "text", text: "after" },
        ],
      },
    ]);
    const [diff, terminal, after] = fitting!.details;
    expect(diff).toEqual({ type: "diff", path: "a", new: "", cut: true });
    expect(terminal).toMatchObject({ type: "terminal", cut: true });
    expect((terminal as { text: string }).text).toMatch(/end$/);
    expect(after).toMatchObject({ cut: true });
    expect(sizeOf(fitting)).toBeLessThan(maxDetailBytes + 300);
  });

  test("leaves small details as they are", () => {
    const calls = [{ details: [{ type: "text" as const, text: "hi" }] }, {}];
    expect(fitDetails(calls)).toEqual(calls);
  });
});

describe("planText", () => {
  test("writes a plan as a list", () => {
    const entries = [
      { content: "Read\nthe file", priority: "high", state: "completed" },
      { content: "Edit it", state: "running" },
    ] as const;
    expect(read({ kind: "plan", entries })).toEqual({ kind: "plan", content: "", entries });
    expect(planText(entries)).toBe("- [x] Read the file\n- [ ] **Running:** Edit it");
  });

  test("writes nothing for an empty plan", () => {
    expect(planText([])).toBe("");
  });
});
