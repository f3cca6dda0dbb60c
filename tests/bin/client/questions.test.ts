// Tests how a terminal shows questions, and what numbers choose.
import { describe, expect, test } from "vitest";
import { ChatQuestions } from "../../../bin/client/chat-questions.ts";
import { questionLines } from "../../../bin/client/question-text.ts";
import type { ChatAnswer, ChatAnswered, ChatQuestion } from "../../../lib/pico-link/index.ts";

const question: ChatQuestion = {
  id: "q1",
  kind: "approval",
  content: "Delete the folder?",
  toolCallId: "call1",
  state: "open",
  options: [
    { id: "go", label: "Deny nothing", effect: "allow" },
    { id: "allow", label: "Allow always", effect: "allow" },
    { id: "no", label: "Keep it", effect: "deny" },
    { id: "later", label: "Later" },
  ],
};

describe("questionLines", () => {
  test.each([
    ["of a program", { id: "call1", name: "remove", arguments: '{\n  "path": "build"\n}' }],
    [
      "of OpenAI",
      { id: "call1", function: { name: "remove", arguments: '{\n  "path": "build"\n}' } },
    ],
    ["with an object", { id: "call1", name: "remove", arguments: { path: "build" } }],
  ])("shows the arguments of a call %s above the words", (_, call) => {
    expect(questionLines(question, 1, call).slice(0, 5)).toEqual([
      "Arguments of remove:",
      "  | {",
      '  |   "path": "build"',
      "  | }",
      "Delete the folder?",
    ]);
  });

  test("shows the change, the places and the arguments of a step", () => {
    const numbered = Array.from({ length: 20 }, (_, at) => `line ${at}`).join("\n");
    const call = {
      name: "edit",
      title: "Greet",
      arguments: "{}",
      locations: [{ path: "src/hello.py", line: 2 }, { path: "b" }],
      details: [
        { type: "text", text: "not shown" },
        {
          type: "diff",
          path: "a.ts",
          old: numbered,
          new: numbered.replace("line 9", "\tnine\u202e"),
        },
        { type: "diff", path: "new.ts", new: "one\n".repeat(205) },
        { type: "diff", path: "huge.ts", new: "", cut: true },
      ],
    };
    const lines = questionLines(question, 1, call);
    expect(lines.slice(0, 13)).toEqual([
      "Greet",
      "  in src/hello.py:2, b",
      "Change of a.ts: +1 -1",
      "  … 6 unchanged",
      "    line 6",
      "    line 7",
      "    line 8",
      "  - line 9",
      "  + \tnine\ufffd",
      "    line 10",
      "    line 11",
      "    line 12",
      "  … 7 unchanged",
    ]);
    expect(lines.slice(13, 15)).toEqual(["Change of new.ts: +205 -0", "  + one"]);
    expect(lines.slice(213, 217)).toEqual([
      "  + one",
      "  … 5 more lines",
      "Change of huge.ts: too large to show here",
      "Arguments of edit:",
    ]);
  });

  test("names effects unless the label begins with them", () => {
    expect(questionLines(question, 1).filter((line) => /^ {2}\/\d/.test(line))).toEqual([
      "  /1  Allow · Deny nothing",
      "  /2  Allow always",
      "  /3  Deny · Keep it",
      "  /4  Later",
    ]);
  });

  test("replaces control characters in arguments", () => {
    const call = { name: "run", arguments: "\u001b[2Jls\u202e" };
    expect(questionLines(question, 1, call)[1]).toBe("  | \ufffd[2Jls\ufffd");
  });
});

describe("ChatQuestions.choose", () => {
  function open() {
    const notes: string[] = [];
    const answers: [string, ChatAnswer][] = [];
    const questions = new ChatQuestions(
      (text) => void notes.push(text),
      () => ({
        answer(id, answer): Promise<ChatAnswered> {
          answers.push([id, answer]);
          return Promise.resolve({ status: "settled" });
        },
      }),
    );
    return { notes, answers, questions };
  }

  test("answers with the option of a number", () => {
    const { answers, questions } = open();
    questions.changed(question);
    expect(questions.choose("/3 because ")).toBe(true);
    expect(answers).toEqual([["q1", { option: "no", text: "because" }]]);
  });

  test("shows a call that arrived before the question", () => {
    const { notes, questions } = open();
    questions.learn([{ id: "call1", name: "remove", arguments: "{}" } as never]);
    questions.changed(question);
    expect(notes.slice(0, 2)).toEqual(["Arguments of remove:", "  | {}"]);
  });

  test.each(["/9", "/0", "/5 text", "/123456789"])("refuses %j, which names no option", (line) => {
    const { notes, answers, questions } = open();
    questions.changed(question);
    notes.length = 0;
    expect(questions.choose(line)).toBe(true);
    expect(answers).toEqual([]);
    expect(notes.join()).toContain("the options are /1 to /4");
  });

  test("refuses a number before the first question", () => {
    const { notes, questions } = open();
    expect(questions.choose("/1")).toBe(true);
    expect(notes.join()).toContain("no question was asked");
  });

  test.each([" /9", "/stop", "/1a", "9", "see /1"])("leaves the message %j", (line) => {
    expect(open().questions.choose(line)).toBe(false);
  });
});
