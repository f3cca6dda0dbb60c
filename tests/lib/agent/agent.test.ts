// Tests handlers of programs without Doorward.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { AgentError, Handler } from "../../../lib/agent/index.ts";
import { Program, type Line } from "../../../lib/agent/program.ts";
import { talk } from "../../../lib/agent/testing.ts";

const kinds: Readonly<Record<string, Handler>> = {
  "an async generator": async function* ({ content }) {
    yield "you ";
    yield `said ${content}`;
  },
  "a generator": function* ({ content }) {
    yield "you ";
    yield `said ${content}`;
  },
  "an async function": async ({ content }) => `you said ${content}`,
  "a function": ({ content }) => `you said ${content}`,
};

describe("talk", () => {
  test.each(Object.entries(kinds))("runs %s", async (_, handler) => {
    const { text, lines, end } = await talk(handler, "hello");
    expect(text).toBe("you said hello");
    expect(lines.slice(0, 2).map(({ type }) => type)).toEqual(["ready", "message.ack"]);
    expect(lines[0]?.payload).toMatchObject({ order: "ended" });
    expect(end).toMatchObject({ final: true });
  });

  test("reports an error with its type", async () => {
    const { error } = await talk(() => Promise.reject(new RangeError("no")), "x");
    expect(error).toBe("RangeError: no");
  });

  test("rejects a piece that is not text", async () => {
    const numbers = function* () {
      yield 7;
    } as unknown as Handler;
    expect((await talk(numbers, "x")).error).toBe(
      "TypeError: the text of an answer is a string, not number",
    );
  });

  test("closes a text before something else follows", async () => {
    const { parts } = await talk(async function* (_, answer) {
      answer.think("hm");
      yield "one";
      answer.tool("search", { q: 1 }).done("3 hits");
      answer.tool("left open");
      yield "two";
    }, "x");
    expect(parts.map(({ kind, text }) => [kind, text])).toEqual([
      ["thought", "hm"],
      [undefined, "one"],
      ["tool_calls", "search"],
      ["tool_calls", "left open"],
      [undefined, "two"],
    ]);
    expect(parts[2]?.payload["tool_calls"]).toMatchObject([{ state: "completed" }]);
    expect(parts[3]?.payload["tool_calls"]).toMatchObject([{ state: "failed" }]);
  });

  test.each([
    [true, "true"],
    [false, "false"],
    [undefined, "false"],
  ])("passes the approval %s", async (reply, expected) => {
    const asks: Handler = async (_, answer) => {
      const step = answer.tool("rm", { path: "build" }, { state: "pending" });
      return String(await answer.allow("Delete?", { tool: step }));
    };
    const { text, questions, parts } = await talk(asks, "x", { replies: [reply] });
    expect(text).toBe(expected);
    const [call] = parts[0]!.payload["tool_calls"] as { id: string }[];
    expect(questions[0]).toMatchObject({ kind: "approval", tool_call_id: call!.id });
  });

  test("returns chosen texts and the values of a form", async () => {
    const long = "x".repeat(70);
    const { text } = await talk(
      async (_, answer) => {
        const one = await answer.choose("Which?", ["red", "green"]);
        const second = await answer.choose("Which?", ["red", long]);
        const none = await answer.choose("Which?", ["red"]);
        const values = await answer.form("Where?", { type: "object", properties: {} });
        return JSON.stringify([one, second === long, none, values]);
      },
      "x",
      { replies: ["green", "2", undefined, { city: "Rome" }] },
    );
    expect(text).toBe('["green",true,null,{"city":"Rome"}]');
  });

  test("keeps the state of a conversation, also before a later question", async () => {
    const stateFolder = await mkdtemp(join(tmpdir(), "doorward-agent-"));
    const handler: Handler = async ({ state, answer: said }, answer) => {
      if (said) return `${state["what"] as string} ${said.key} ${said.allowed}`;
      state["what"] = "deploy";
      await answer.askLater("k1", "Deploy?");
      throw new Error("after the question");
    };
    const asked = await talk(handler, "x", { stateFolder });
    expect(asked.questions).toMatchObject([{ durable: "k1" }]);
    const answer = { key: "k1", outcome: "answered", effect: "deny" };
    expect((await talk(handler, "", { stateFolder, payload: { answer } })).text).toBe(
      "deploy k1 false",
    );
    expect(
      (await talk(({ state }) => JSON.stringify(state), "", { stateFolder, session: "b" })).text,
    ).toBe("{}");
    await rm(stateFolder, { recursive: true });
  });

  test("reads files and sends them", async () => {
    const folder = await mkdtemp(join(tmpdir(), "doorward-agent-"));
    const path = join(folder, "a.txt");
    await writeFile(path, "one");
    const { text, parts } = await talk(
      async (message, answer) => {
        await answer.file(new TextEncoder().encode("two"), { name: "b.txt" });
        const contents = await Promise.all(message.files.map((file) => file.read()));
        return contents.map((bytes) => new TextDecoder().decode(bytes)).join();
      },
      "x",
      { payload: { media: [{ path, filename: "a.txt" }, "data:text/plain;base64,dHdv"] } },
    );
    expect(text).toBe("one,two");
    expect(parts[0]?.payload["attachments"]).toMatchObject([{ filename: "b.txt" }]);
    await rm(folder, { recursive: true });
  });

  test("reads earlier turns", async () => {
    const history = [{ content: "a" }, { content: "b" }];
    const { text } = await talk(async (_, answer) => JSON.stringify(await answer.history(1)), "x", {
      history,
    });
    expect(text).toBe('[{"content":"b"}]');
  });
});

describe("Program", () => {
  /** Sends a message to a handler, and returns the lines after each further line. */
  function begin(handler: Handler) {
    const lines: Line[] = [];
    const program = new Program(handler, {
      write: (line) => lines.push(line),
      warn: () => undefined,
      prefix: "p",
      after: (_, run) => run(),
    });
    program.receive({ type: "message.send", id: "7", session_id: "s", payload: { content: "x" } });
    return { program, lines };
  }
  const stop: Line = { type: "message.stop", id: "7" };
  const settled = (id: string): Line => ({
    type: "question.settled",
    id,
    payload: { outcome: "stopped" },
  });

  test.each(["before it begins", "while it writes"])("ends as stopped %s", async (when) => {
    let begun = (): void => undefined;
    const hasBegun = new Promise<void>((resolve) => void (begun = resolve));
    const { program, lines } = begin(async function* () {
      yield "one";
      begun();
      await new Promise(() => undefined);
    });
    if (when === "while it writes") await hasBegun;
    program.receive(stop);
    await program.idle();
    expect(lines.at(-1)).toMatchObject({
      type: "message.ack",
      payload: { finish_reason: "stopped" },
    });
  });

  test("takes a stopped question for a stop, not for a no", async () => {
    const seen: unknown[] = [];
    const { program, lines } = begin(async (_, answer) => {
      seen.push(await answer.allow("Delete?").catch((error: AgentError) => error.code));
    });
    await expect.poll(() => lines.some(({ type }) => type === "question.ask")).toBe(true);
    const asked = lines.find(({ type }) => type === "question.ask");
    program.receive(settled(String(asked?.payload?.["message_id"])));
    program.receive(stop);
    await program.idle();
    expect(seen).toEqual(["stopped"]);
    expect(lines.at(-1)?.payload).toMatchObject({ final: true, finish_reason: "stopped" });
  });

  test("rejects a question with the code of Doorward", async () => {
    const { program, lines } = begin(async (_, answer) => {
      await answer.ask("Which?", { kind: "choice" });
    });
    await expect.poll(() => lines.some(({ type }) => type === "question.ask")).toBe(true);
    const asked = lines.find(({ type }) => type === "question.ask");
    const payload = { code: "invalid_question", message: '"options" is missing' };
    program.receive({ type: "error", id: String(asked?.payload?.["message_id"]), payload });
    await program.idle();
    expect(lines.at(-1)).toMatchObject({
      type: "error",
      payload: { message: 'AgentError: "options" is missing' },
    });
  });
});
