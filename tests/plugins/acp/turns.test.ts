import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { records } from "../../../plugins/records/index.ts";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { waitFor } from "../../support/program-harness.ts";
import { runFor } from "../../support/timers.ts";
import { startAgent, step } from "../../support/acp-harness.ts";

const edit = {
  toolCallId: "t1",
  title: "Edit a.txt",
  kind: "edit",
  status: "pending",
  rawInput: { path: "a.txt" },
  locations: [{ path: "/w/a.txt", line: 3 }],
  content: [{ type: "diff", path: "/w/a.txt", oldText: "a\n", newText: "b\n" }],
};
const thought = (text: string) =>
  step("update", { sessionUpdate: "agent_thought_chunk", content: { type: "text", text } });

describe("a turn", () => {
  test("shows thoughts, texts and their messages as parts in order", async () => {
    await using agent = await startAgent();
    const end = await agent.run(
      thought("Let me "),
      thought("see."),
      step("chunk", { words: "first", id: "m1" }),
      step("chunk", { words: "second", id: "m2" }),
    );
    expect(agent.shown().map(({ kind, content }) => [kind, content])).toEqual([
      ["thought", "Let me see."],
      [undefined, "first"],
      [undefined, "second"],
    ]);
    expect(end).toMatchObject({
      outcome: "completed",
      finishReason: "stop",
      usage: { input: 10, output: 5 },
    });
  });

  test("shows a call as one step with diff, place and result", async () => {
    await using agent = await startAgent();
    await agent.run(
      step("update", { sessionUpdate: "tool_call", ...edit }),
      step("update", {
        sessionUpdate: "tool_call_update",
        toolCallId: "t1",
        status: "in_progress",
      }),
      step("update", {
        sessionUpdate: "tool_call_update",
        toolCallId: "t1",
        status: "completed",
        rawOutput: "1 line",
      }),
      "done",
    );
    const [first, last] = agent.shown();
    expect(first).toMatchObject({
      kind: "tool_calls",
      final: true,
      toolCalls: [
        {
          id: "t1",
          title: "Edit a.txt",
          kind: "edit",
          state: "completed",
          result: "1 line",
          locations: [{ path: "/w/a.txt", line: 3 }],
          details: [{ type: "diff", path: "/w/a.txt", old: "a\n", new: "b\n" }],
        },
      ],
    });
    expect(last?.content).toBe("done");
    // It changed a file without a question.
    expect(agent.status()).toMatchObject({ asked: 0, unasked: 1 });
  });

  test("fails a step that the agent leaves open", async () => {
    await using agent = await startAgent();
    await agent.run(step("update", { sessionUpdate: "tool_call", ...edit }));
    expect(agent.shown()[0]).toMatchObject({ final: true, toolCalls: [{ state: "failed" }] });
  });

  test("takes an update as the first word about a call", async () => {
    await using agent = await startAgent();
    const fields = { toolCallId: "x", title: "List", kind: "switch_mode", status: "completed" };
    await agent.run(step("update", { sessionUpdate: "tool_call_update", ...fields }));
    expect(agent.shown()[0]?.toolCalls?.[0]).toMatchObject({ kind: "other", state: "completed" });
  });

  test("shows a plan as one message, which ends with the turn", async () => {
    await using agent = await startAgent();
    const plan = (status: string) =>
      step("update", {
        sessionUpdate: "plan",
        entries: [{ content: "Read\nit", priority: "high", status }],
      });
    await agent.run(plan("pending"), plan("in_progress"), plan("completed"));
    expect(agent.shown()).toMatchObject([
      {
        kind: "plan",
        final: true,
        entries: [{ content: "Read it", priority: "high", state: "completed" }],
      },
    ]);
  });

  test("shows images and links, and names sound", async () => {
    await using agent = await startAgent();
    const chunk = (content: object) =>
      step("update", { sessionUpdate: "agent_message_chunk", content });
    await agent.run(
      chunk({ type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" }),
      chunk({ type: "resource_link", uri: "file:///a b", name: "a [b]" }),
      chunk({ type: "audio", mimeType: "audio/wav", data: "" }),
    );
    const [image, text] = agent.shown();
    expect(image?.attachments).toMatchObject([{ type: "image/png" }]);
    expect(text?.content).toBe("[a b](<file:///a%20b>)[audio]");
  });

  test("drops what belongs to an earlier turn", async () => {
    await using agent = await startAgent();
    await agent.run(step("chunk", { words: "one", id: "m1" }), step("late", "too late"));
    await agent.run(
      step("chunk", { words: "again", id: "m1" }),
      step("chunk", { words: "two", id: "m2" }),
    );
    expect(agent.text()).toBe("two");
  });

  test("survives lines that are not messages, and unknown ones", async () => {
    await using agent = await startAgent();
    await agent.run(
      step("raw", "not JSON"),
      step("raw", '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":1}}'),
      step("update", { sessionUpdate: "compaction_update", compactionId: "c" }),
      step("call", "fs/read_text_file"),
    );
    expect(JSON.parse(agent.text())).toMatchObject({ error: { code: -32601 } });
    expect(agent.process()).toMatchObject({ state: "running", invalidLines: 2 });
  });

  test("keeps the contents of ended steps up to 8 MiB", async () => {
    await using agent = await startAgent();
    const rename = (toolCallId: string) =>
      step("update", { sessionUpdate: "tool_call_update", toolCallId, title: "Renamed" });
    const end = agent.run(
      step("diffs", { count: 45, length: 200_000 }),
      // The steps are shown before the question.
      step("ask", { toolCall: { toolCallId: "c", title: "Run", kind: "execute" } }),
      rename("diff44"),
      rename("diff0"),
    );
    const { id } = await agent.question();
    await agent.answer(id, { option: "allow_once" });
    await end;
    const shown = agent.shown().flatMap(({ toolCalls = [] }) => toolCalls);
    const titles = Array.from({ length: 44 }, (_, at) => `Edit ${at}`);
    expect(shown.map(({ title }) => title)).toEqual([...titles, "Renamed", "Run"]);
    const [first] = shown[0]!["details"] as { new: string }[];
    expect(first?.new).toHaveLength(200_000);
  });

  test("reads a line of megabytes, and ends the agent at 16 MiB", async () => {
    await using agent = await startAgent();
    const long = (length: number) =>
      `{"jsonrpc":"2.0","method":"_long","params":"${"x".repeat(length)}"}`;
    await agent.run(step("raw", long(3_000_000)), "short");
    expect(agent.text()).toBe("short");
    const end = await agent.run(step("raw", long(17_000_000)), step("deaf", 1));
    expect(end).toMatchObject({ outcome: "failed" });
    const { error } = await agent.failures.next("the failure");
    expect(error.message).toContain("it wrote a line over 16 MiB");
  });

  test("fails when the agent exits, and goes on with the next one", async () => {
    await using agent = await startAgent({ load: true });
    await agent.run("hello");
    const end = await agent.run(step("exit", 7));
    expect(end.outcome).toBe("failed");
    const { error } = await agent.failures.next("the failure");
    expect(error).toMatchObject({ code: "application_ended" });
    expect(error.message).toContain("exit code 7");
    expect((await agent.run("again")).outcome).toBe("completed");
    // The old reply, which the agent repeats, is not shown.
    expect(agent.text()).toBe("again");
    expect(agent.got().join("\n")).toContain("session/load");
  });
});

describe("a message during a restart", () => {
  test("goes to the next process of the agent", async () => {
    await using agent = await startAgent();
    await agent.run("one");
    expect(agent.kernel.services.program.restart()).toBe(true);
    expect(await agent.run("two")).toMatchObject({ outcome: "completed" });
    expect(agent.text()).toBe("two");
  });
});

describe("an exit at any byte", () => {
  test.each([1, 20, 75, 130, 160])(
    "after %d bytes of a line fails the turn only",
    async (length) => {
      await using agent = await startAgent();
      const end = await agent.run(step("cut", length));
      expect(end).toMatchObject({ outcome: "failed" });
      expect(agent.text()).toBe("");
      expect(await agent.run("next")).toMatchObject({ outcome: "completed" });
    },
  );
});

describe("the session of a conversation", () => {
  test("says that it waits for a question elsewhere, after ten seconds", async () => {
    const clock = createStoppedClock();
    await using agent = await startAgent({ blocks: true }, {}, [], {}, clock);
    await agent.say(step("ask", { toolCall: { toolCallId: "t", title: "Wait" } }), "other");
    const asked = await agent.question();
    const end = agent.run("begun after the question");
    await waitFor(() => agent.got().filter((line) => line.includes("session/new")).length === 2);
    runFor(clock, 10_000);
    await waitFor(() => agent.shown().some(({ kind }) => kind === "notice"));
    expect(agent.shown()[0]?.content).toContain("waits for the answer to a question in another");
    await agent.halt();
    expect(await end).toMatchObject({ outcome: "stopped" });
    expect(asked.session).toBe("other");
  });

  test("serves all turns of one conversation only", async () => {
    await using agent = await startAgent({ resume: true });
    await agent.run("one");
    await agent.run("two");
    await agent.say("three", "other");
    await agent.ends.next("the end in the second conversation");
    expect(agent.got().filter((line) => line.includes("session/new"))).toHaveLength(2);
  });

  test("begins again where the agent has forgotten it", async () => {
    await using agent = await startAgent({ load: true, forgets: true });
    await agent.run("one");
    await agent.run(step("exit", 0));
    await agent.run("two");
    expect(agent.shown()).toMatchObject([
      { kind: "notice", content: "The agent has forgotten this conversation." },
      { content: "two" },
    ]);
  });

  test("begins in the mode that asks", async () => {
    await using agent = await startAgent({ modes: ["auto", "default"] });
    await agent.run("one");
    expect(agent.got().join("\n")).toContain('"modeId":"default"');
    expect(agent.status()).toMatchObject({
      name: "Scripted agent",
      version: "2.0",
      mode: { id: "default", isRisky: false },
      modes: [{ id: "auto", isRisky: true }, { id: "default" }],
      commands: [{ name: "plan", description: "Makes a plan", hint: "what" }],
    });
    expect(agent.kernel.services.channels.applicationStatus()).toEqual({
      state: "ready",
      name: "Scripted agent 2.0",
      mode: "default",
      modes: [
        { id: "auto", name: "auto", unguarded: true },
        { id: "default", name: "default" },
      ],
      commands: [{ name: "plan", description: "Makes a plan", hint: "what" }],
      counts: [
        { label: "Asked", value: 0 },
        { label: "Ran without asking", value: 0 },
      ],
    });
  });

  test("begins in the mode of the settings, by its option", async () => {
    const configOptions = [
      {
        id: "m",
        name: "Mode",
        category: "mode",
        type: "select",
        currentValue: "build",
        options: [
          { value: "build", name: "Build" },
          { value: "plan", name: "Plan" },
        ],
      },
    ];
    await using agent = await startAgent({ configOptions }, { mode: "plan" });
    await agent.run("one");
    expect(agent.got().join("\n")).toContain('"configId":"m","value":"plan"');
    expect(agent.status().mode?.id).toBe("plan");
  });
});

describe("the session of an agent in the records", () => {
  test("continues after a restart of Doorward", async () => {
    const home = await mkdtemp(join(tmpdir(), "doorward-acp-home-"));
    const cwd = tmpdir();
    {
      await using first = await startAgent({ resume: true }, { cwd }, [records({ home })]);
      await first.run("one");
    }
    await using agent = await startAgent({ resume: true }, { cwd }, [records({ home })]);
    await agent.run("two");
    const got = agent.got().join("\n");
    expect(got).toContain("session/resume");
    expect(got).not.toContain("session/new");
    await rm(home, { recursive: true });
  });

  test("begins again in another folder", async () => {
    const home = await mkdtemp(join(tmpdir(), "doorward-acp-home-"));
    {
      await using first = await startAgent({ resume: true }, { cwd: "/" }, [records({ home })]);
      await first.run("one");
    }
    await using agent = await startAgent({ resume: true }, {}, [records({ home })]);
    await agent.run("two");
    expect(agent.got().join("\n")).not.toContain("session/resume");
    await rm(home, { recursive: true });
  });
});
