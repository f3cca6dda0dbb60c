// POST /pico/answer: answers a question of the application, for clients without a WebSocket.
import { WireError, decodeAnswerRequest, messageErrors } from "../../../lib/pico-wire/index.ts";
import type { QuestionAck } from "../../../lib/pico-wire/index.ts";
import type { ChannelHandle } from "../../channels/index.ts";
import type { Admission } from "../handshake/admission.ts";
import { resolveSession, sessionForbidden } from "../handshake/identity.ts";
import type { Rejection } from "../handshake/rejection.ts";
import type { HandshakeRequest } from "../handshake/request.ts";
import { answerQuestion, viaOf } from "../session/answers.ts";
import type { JsonResponse } from "./post-message.ts";
import type { StopOptions } from "./post-stop.ts";
import { readBody } from "./read-body.ts";

export interface AnswerOptions extends Omit<StopOptions, "delivery"> {
  readonly delivery: { readonly answer: ChannelHandle["answer"] };
}

/** The values of a form: 20 texts of 4 KiB, even if many characters are escaped. */
const maxBodyBytes = 128 * 1024;
const missingSession = 'The body has no session id. Add "session_id".';

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
function toAnswerResponse({ status, settled, problem }: QuestionAck): JsonResponse {
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

type AnswerHandler = (
  handshakeRequest: HandshakeRequest,
  admission: Admission,
) => Promise<JsonResponse | Rejection | undefined>;

export function createAnswerHandler(options: AnswerOptions): AnswerHandler {
  const { runtime, access, delivery, isWithinRate } = options;
  const { clock, config, newId } = runtime;

  return async (handshakeRequest, admission) => {
    const { request, peer } = handshakeRequest;
    if (!isWithinRate(peer.key, clock.now()))
      return { code: "rate_limited", message: messageErrors.rate_limited.message };
    const body = await readBody(request, { maxBytes: maxBodyBytes, clock, reserve: () => true });
    if (body === undefined || "code" in body) return body;
    const expired = access.admissionControl.expired(handshakeRequest, admission);
    if (expired) return expired;
    try {
      const { session_id: name, ...answer } = decodeAnswerRequest(body);
      if (name === undefined) return { code: "invalid_session_id", message: missingSession };
      const session = resolveSession(admission, name, newId);
      if (session === undefined) return sessionForbidden(admission);
      const answerer = { sender: admission.sender, via: viaOf(admission.method) };
      const options = { answer: delivery.answer, config };
      return toAnswerResponse(await answerQuestion(options, session, answer, answerer));
    } catch (error) {
      if (error instanceof WireError) return { code: error.code, message: error.message };
      throw error;
    }
  };
}
