import { describe, expect, test } from "vitest";
import { RunEvents } from "../../../plugins/protocols/ag-ui/events.ts";
import { ChunkReader } from "../../../plugins/protocols/ai-sdk/chunks.ts";
import type { EventWriter } from "../../../plugins/protocols/sse.ts";
import { AnswerRun } from "../../../plugins/protocols/answer-run.ts";

/** Collects the events that a protocol writes. */
function createSink() {
  const events: Record<string, unknown>[] = [];
  const writer = {
    isWritable: () => true,
    event: (text: string) => void events.push(JSON.parse(text)),
    end: () => undefined,
  };
  return { events, writer: writer as unknown as EventWriter };
}

const plan = { content: "- Look", kind: "plan", inReplyTo: "r" } as const;
const running = [{ content: "Look", state: "running" }] as const;
const completed = [{ content: "Look", state: "completed" }] as const;

describe("AG-UI", () => {
  test("writes a plan and its update as activities without text", () => {
    const { events, writer } = createSink();
    const run = new AnswerRun("r", () => undefined);
    const input = { threadId: "t", runId: "r", messages: [] };
    run.attach(new RunEvents(writer, input as never, { fileUrl: String }), { isParallel: true });
    run.written("p", { ...plan, entries: running }, true);
    run.written("p", { ...plan, entries: completed }, true);
    const about = { type: "ACTIVITY_SNAPSHOT", messageId: "p", activityType: "PLAN" };
    expect(events.slice(1)).toEqual(
      [running, completed].map((entries) => ({ ...about, replace: true, content: { entries } })),
    );
  });
});

describe("AI SDK", () => {
  test("writes the details of a call as provider metadata", () => {
    const { events, writer } = createSink();
    const reader = new ChunkReader(writer, "m", { fileUrl: String });
    const details = [{ type: "diff", path: "a", new: "b" }] as const;
    const call = { id: "c", name: "edit", arguments: "{}", title: "Edit" };
    reader.toolCall(call);
    reader.toolResult({ ...call, result: "ok", details });
    const metadata = events.flatMap(({ providerMetadata }) => providerMetadata ?? []);
    expect(metadata).toEqual([
      { doorward: { title: "Edit" } },
      { doorward: { title: "Edit", details } },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "tool-output-available", output: "ok" });
  });
});
