import { test } from "vitest";
import { checkQuestionLaw } from "../conformance/question-law.ts";
import { rounds } from "../support/runs.ts";

test("settles each question of 10,000 random schedules once", () =>
  checkQuestionLaw(rounds(10_000)));
