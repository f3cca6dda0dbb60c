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
