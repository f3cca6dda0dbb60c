import { expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import { DurableAnswers } from "../../../plugins/channels/durable-answers.ts";
import type { OpenQuestion } from "../../../plugins/channels/index.ts";
import { Sessions } from "../../../plugins/channels/sessions.ts";

const question = (session: string): OpenQuestion => ({
  channel: "sample",
  session,
  id: "q",
  content: "Go on?",
  at: 1,
  question: {
    kind: "approval",
    state: "settled",
    durable: "plan",
    settled: { outcome: "dismissed", via: "pico", at: 2 },
  },
});

test("delivers the answers of two sessions whose questions share an id", () => {
  const delivered: string[] = [];
  const accept: (() => void)[] = [];
  const answers = new DurableAnswers(
    {
      log: { info: () => undefined } as never,
      after: () => () => undefined,
      waits: () => undefined,
      deliver(message, { accepted }) {
        delivered.push(message.session);
        accept.push(() => accepted("accepted"));
      },
    },
    new Sessions(createStoppedClock()),
  );
  for (const session of ["a", "b", "a"]) answers.add(question(session));
  for (const run of accept) run();
  answers.deliverAll();
  expect(delivered).toEqual(["a", "b"]);
});
