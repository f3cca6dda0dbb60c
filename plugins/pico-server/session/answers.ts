// Answers of clients to questions of the application.
import { codeOf } from "../../../kernel/index.ts";
import { isId, type AnswerPayload, type QuestionAck } from "../../../lib/pico-wire/index.ts";
import type { ChannelHandle, QuestionAnswer } from "../../channels/index.ts";
import { defined } from "../../../lib/util.ts";
import type { PicoServerConfig } from "../config.ts";
import type { Admission } from "../handshake/admission.ts";
import type { Requester } from "../protocol-service.ts";
import { whyNotAllowed } from "./rights.ts";
import { toMessageError } from "./channel-adapter.ts";

/** The client that answers. */
export type Answerer = Pick<Admission, "sender" | "owner" | "mayAnswer" | "may" | "method" | "via">;

const forbidden: Readonly<Record<"query" | "owner" | "permission", string>> = {
  query: "A client with its token in the URL cannot answer. Send the token in a header.",
  owner: "Only the owner can answer: the setting channels.pico.answers is owner.",
  permission: "Your sign-in may not answer questions.",
};

/** Whether these rights permit to answer, however the client came. */
export const mayAnswer = (
  person: Requester,
  { answers }: Pick<PicoServerConfig, "answers">,
): boolean => person.mayAnswer && (answers !== "owner" || person.owner);

/** @returns Why this client cannot answer, whatever the question. */
function whyForbidden(
  answerer: Answerer,
  config: Pick<PicoServerConfig, "answers">,
): string | undefined {
  if (answerer.method === "query") return forbidden.query;
  if (mayAnswer(answerer, config)) return undefined;
  if (answerer.mayAnswer) return forbidden.owner;
  return whyNotAllowed(answerer, "answer") ?? forbidden.permission;
}

/** Names that a client may give itself. A page of the dashboard is known by its sign-in. */
const statedPlaces: ReadonlySet<string | undefined> = new Set(["acp"]);
const placeOf = ({ via }: Answerer, stated: string | undefined): string =>
  via === "pico" && statedPlaces.has(stated) ? stated! : via;

/** @returns The answer of a client, without the id of the question. */
const toAnswer = ({ option, options, values, text, dismiss }: AnswerPayload): QuestionAnswer =>
  defined({ option, options, values, text, dismiss }) as QuestionAnswer;

interface AnswerOptions {
  readonly answer: ChannelHandle["answer"];
  readonly config: () => Pick<PicoServerConfig, "answers">;
}

/**
 * Passes the answer of a client to its question.
 *
 * @returns The effect, for the client. Never rejects: `failed` means that it was not stored.
 */
export async function answerQuestion(
  { answer, config }: AnswerOptions,
  session: string,
  payload: AnswerPayload,
  answerer: Answerer,
): Promise<QuestionAck> {
  const { message_id } = payload;
  const problem = whyForbidden(answerer, config());
  if (problem !== undefined) return { message_id, status: "forbidden", problem };
  if (!isId(message_id))
    return {
      message_id: "",
      status: "invalid",
      problem: '"message_id": expected the id of a question',
    };
  try {
    const via = placeOf(answerer, payload.via);
    const result = await answer(session, message_id, toAnswer(payload), answerer.sender, via);
    return {
      message_id,
      status: result.status,
      ...(result.settled && { settled: result.settled }),
      ...(result.problem !== undefined && { problem: result.problem }),
    };
  } catch (error) {
    if (codeOf(error) === "internal") throw error;
    return { message_id, status: "failed", problem: toMessageError(error).message };
  }
}
