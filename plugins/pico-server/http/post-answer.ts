// POST /pico/answer: answers a question of the application, for clients without a WebSocket.
import { decodeAnswerRequest, type QuestionAck } from "../../../lib/pico-wire/index.ts";
import type { ChannelHandle } from "../../channels/index.ts";
import { answerQuestion, viaOf } from "../session/answers.ts";
import { postInSession, type PostHandler, type PostOptions } from "./post-in-session.ts";
import type { JsonResponse } from "./post-message.ts";

export interface AnswerOptions extends PostOptions {
  readonly delivery: { readonly answer: ChannelHandle["answer"] };
}

/** The values of a form: 20 texts of 4 KiB, even if many characters are escaped. */
const maxBodyBytes = 128 * 1024;

/** Status and `error` of each effect. */
const responses: Readonly<Record<string, readonly [status: number, error?: string]>> = {
  settled: [200],
  already: [409, "already_settled"],
  unknown: [404, "unknown_question"],
  invalid: [422, "invalid_answer"],
  forbidden: [403, "answer_forbidden"],
  failed: [503, "not_stored"],
};
const sentences: Readonly<Record<string, string>> = {
  already_settled: "Another answer came first.",
  unknown_question: "The session has no such question. It may be from before a restart.",
};

/** @returns The response for the effect of an answer. */
export function toAnswerResponse({
  status,
  settled,
  problem,
}: Omit<QuestionAck, "message_id">): JsonResponse {
  const [code, error] = responses[status] ?? [500, "internal"];
  return {
    status: code,
    body: {
      ...(error !== undefined && { error, message: problem ?? sentences[error] }),
      status,
      ...(settled && { settled }),
    },
  };
}

export const createAnswerHandler = (options: AnswerOptions): PostHandler =>
  postInSession(options, {
    maxBodyBytes,
    decode: decodeAnswerRequest,
    async act(session, { session_id: _, ...answer }, { sender, method }) {
      const { runtime, delivery } = options;
      const answerer = { sender, via: viaOf(method) };
      const settings = { answer: delivery.answer, config: runtime.config };
      return toAnswerResponse(await answerQuestion(settings, session, answer, answerer));
    },
  });
