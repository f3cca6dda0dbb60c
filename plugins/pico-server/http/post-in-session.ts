// POST /pico/stop and /pico/answer: short requests about a session, without a WebSocket.
import {
  WireError,
  decodeAnswerRequest,
  decodeStopRequest,
  messageErrors,
  type QuestionAck,
} from "../../../lib/pico-wire/index.ts";
import type { ChannelHandle } from "../../channels/index.ts";
import type { Admission } from "../handshake/admission.ts";
import { resolveSession, sessionForbidden } from "../handshake/identity.ts";
import type { Rejection } from "../handshake/rejection.ts";
import type { HandshakeRequest } from "../handshake/request.ts";
import { noStopRight, toStopper } from "../session/rights.ts";
import { answerQuestion } from "../session/answers.ts";
import { toStoppedMessages } from "../session/channel-adapter.ts";
import { readBody, type JsonResponse, type PostMessageOptions } from "./post-message.ts";

export interface SessionPostOptions extends Pick<
  PostMessageOptions,
  "isWithinRate" | "runtime" | "access"
> {
  readonly delivery: Pick<ChannelHandle, "stop" | "answer">;
}

type PostHandler = (
  handshakeRequest: HandshakeRequest,
  admission: Admission,
) => Promise<JsonResponse | Rejection | undefined>;

interface SessionAction<T> {
  readonly maxBodyBytes: number;
  /** @throws WireError for a body that is not valid. */
  readonly decode: (body: Uint8Array) => T;
  /** @param session - The one that the body names. */
  readonly act: (session: string, body: T, admission: Admission) => Promise<JsonResponse>;
}

const missingSession = 'The body has no session id. Add "session_id".';

function postInSession<T extends { readonly session_id?: string | undefined }>(
  { runtime: { clock, newId }, access, isWithinRate }: SessionPostOptions,
  { maxBodyBytes, decode, act }: SessionAction<T>,
): PostHandler {
  return async (handshakeRequest, admission) => {
    const { request, peer } = handshakeRequest;
    if (!isWithinRate(peer.key, clock.now()))
      return { code: "rate_limited", message: messageErrors.rate_limited.message };
    const body = await readBody(request, { maxBytes: maxBodyBytes, clock, reserve: () => true });
    if (body === undefined || "code" in body) return body;
    const expired = access.admissionControl.expired(admission);
    if (expired) return expired;
    try {
      const decoded = decode(body);
      const { session_id: name } = decoded;
      if (name === undefined) return { code: "invalid_session_id", message: missingSession };
      const session = resolveSession(admission, name, newId);
      if (session === undefined) return sessionForbidden(admission);
      return await act(session, decoded, admission);
    } catch (error) {
      if (error instanceof WireError) return { code: error.code, message: error.message };
      throw error;
    }
  };
}

/** Two ids of 256 bytes fit, even if each byte is escaped. */
const maxStopBytes = 8 * 1024;

export const createStopHandler = (options: SessionPostOptions): PostHandler =>
  postInSession(options, {
    maxBodyBytes: maxStopBytes,
    decode: decodeStopRequest,
    async act(session, { request_id: id }, admission) {
      const by = toStopper(admission);
      if (!by)
        return { status: 403, body: { error: "not_allowed", message: noStopRight(admission) } };
      const stopped = toStoppedMessages(await options.delivery.stop(session, id, by));
      return { status: 200, body: { stopped } };
    },
  });

/** The values of a form: 20 texts of 4 KiB, even if many characters are escaped. */
const maxAnswerBytes = 128 * 1024;

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

export const createAnswerHandler = (options: SessionPostOptions): PostHandler =>
  postInSession(options, {
    maxBodyBytes: maxAnswerBytes,
    decode: decodeAnswerRequest,
    async act(session, { session_id: _, ...answer }, answerer) {
      const { runtime, delivery } = options;
      const settings = { answer: delivery.answer, config: runtime.config };
      return toAnswerResponse(await answerQuestion(settings, session, answer, answerer));
    },
  });
