// Tests the schemas of forms, and the values that answer them.
import { describe, expect, test } from "vitest";
import type { FormSchema, QuestionInput } from "../../../plugins/channels/index.ts";
import { checkAnswer } from "../../../plugins/channels/question-answer.ts";
import { parseQuestion } from "../../../plugins/channels/question-schema.ts";

const questionOf = (schema: object, content = "Which?") =>
  parseQuestion({ kind: "form", content, schema } as QuestionInput, 0).question;
const ask = (schema: object, content?: string): FormSchema => questionOf(schema, content).schema!;

describe("the schema of a form", () => {
  test.each([
    [{ passwd: { type: "string" } }],
    [{ userPassword: { type: "string" } }],
    [{ user_pass_word2: { type: "string" } }],
    [{ USER_PWD: { type: "string" } }],
    [{ "p\u0430ssword": { type: "string" } }],
    [{ "pass\u200bword": { type: "string" } }],
    [{ Ｐassword: { type: "string" } }],
    [{ passw0rd: { type: "string" } }],
    [{ APIKey: { type: "string" } }],
    [{ dbpassword: { type: "string" } }],
    [{ botToken: { type: "string" } }],
    [{ access_tokens: { type: "string" } }],
    [{ pin: { type: "integer" } }],
    [{ value: { type: "string", title: "Your password" } }],
    [{ value: { type: "string", title: "API key" } }],
    [{ value: { type: "string", title: "Passwort" } }],
  ])("refuses to ask for a secret: %j", (properties) => {
    expect(() => ask({ type: "object", properties })).toThrowError(
      expect.objectContaining({
        code: "unsupported_question",
        message: expect.stringContaining("asks for a secret"),
      }),
    );
  });

  test.each([
    { max_tokens: { type: "integer" } },
    { tokenCount: { type: "integer" } },
    { token_limit: { type: "integer" } },
    { reset_password: { type: "boolean" } },
    { login: { type: "string", enum: ["password", "key"] } },
    { passenger: { type: "string" }, secretary: { type: "string" }, keyboard: { type: "string" } },
  ])("accepts a form without secrets: %j", (properties) => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties,
      additionalProperties: false,
    };
    expect(ask(schema)).toEqual({ type: "object", properties });
  });

  test.each([
    [{ description: "Not your password." }, "Which?", "Not your password. "],
    [{ title: "Answer" }, "What is your password?", ""],
  ])("adds a hint if only a text names a secret: %j", (text, content, before) => {
    const properties = { value: { type: "string", ...text }, sure: { type: "boolean" } };
    const schema = { type: "object", properties };
    expect(ask(schema, content).properties).toEqual({
      ...properties,
      value: {
        ...properties.value,
        description: `${before}The answer is stored. Do not enter a password.`,
      },
    });
  });

  test("refuses additional properties that it would not show", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } };
    expect(() => ask({ ...schema, additionalProperties: true })).toThrowError(
      expect.objectContaining({ code: "unsupported_question" }),
    );
  });
});

describe("checkAnswer with dates", () => {
  const answer = (format: string, value: string) =>
    checkAnswer(questionOf({ type: "object", properties: { at: { type: "string", format } } }), {
      values: { at: value },
    });

  test.each([
    ["date", "2026-02-28"],
    ["date", "2028-02-29"],
    ["date", "0099-12-31"],
    ["date-time", "2026-12-31T23:59:59Z"],
    ["date-time", "2026-01-01 10:00"],
  ])("accepts the %s %s", (format, value) => {
    expect(answer(format, value)).toMatchObject({ values: { at: value } });
  });

  test.each([
    ["date", "2026-02-30"],
    ["date", "2026-02-29"],
    ["date", "2026-04-31"],
    ["date", "2026-13-01"],
    ["date", "2026-00-10"],
    ["date-time", "2026-02-30T10:00:00Z"],
    ["date-time", "2026-01-01T25:00:00Z"],
  ])("rejects the %s %s", (format, value) => {
    expect(answer(format, value)).toBe(`"values.at": expected the format ${format}`);
  });
});
