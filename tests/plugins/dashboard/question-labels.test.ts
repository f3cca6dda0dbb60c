// Tests the words for where an answer came from.
import { expect, test } from "vitest";
import {
  settlementText,
  shortSettlementText,
} from "../../../plugins/dashboard/shared/question-labels.ts";

const settled = (via: string) =>
  ({ outcome: "answered", option: "once", by: { id: "ann" }, via, at: 60_000 }) as const;
const question = { options: [{ id: "once", label: "Allow once" }] };

test.each([
  ["ask", "on the page of the question", "page of the question"],
  ["telegram", "over telegram", "telegram"],
  ["constructor", "over constructor", "constructor"],
])("shows the place %s, known or not", (via, long, short) => {
  expect(settlementText(question, settled(via))).toContain(` · by ann · ${long} · `);
  expect(shortSettlementText(question, settled(via), 0)).toContain(` · ann · ${short} · `);
});
