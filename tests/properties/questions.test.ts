import { describe, test } from "vitest";
import { checkQuestionLaw } from "../conformance/question-law.ts";
import { runs } from "../support/runs.ts";

describe("Questions", () => {
  test("settle once, and are stored before the application knows", () =>
    checkQuestionLaw(runs(600)));
});
