/** Handles `doorward questions` and `doorward answer` on the control socket. @module */
import { answerQuestion, questionsView, requireChannels, toAnswered } from "../api/questions.ts";
import type { DashboardContext } from "../context.ts";
import { controlAnswerBody, parseValues } from "../request.ts";

interface QuestionRequest {
  readonly id: string;
  readonly body: unknown;
}
type Handler = (context: DashboardContext, request: QuestionRequest) => unknown;

const channel = "pico";

export const questionHandlers: Readonly<Record<string, Handler>> = {
  "GET /local/questions": ({ services }) => questionsView(services),
  /** The body says whether the answer counts; the status is 200 whatever it says. */
  "POST /local/questions/:id": async ({ services }, { id, body }) => {
    const { session, ...answer } = parseValues(controlAnswerBody, body ?? {});
    const found = session === undefined ? undefined : { channel, session };
    const address = found ?? requireChannels(services).findQuestion(id);
    if (!address) return toAnswered({ status: "unknown" }).body;
    const given = { ...address, id, answer, via: "cli" } as const;
    return toAnswered(await answerQuestion(services, given)).body;
  },
};
