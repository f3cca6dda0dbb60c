/** Endpoints that list open questions of the application, and answer them. @module */
import type { FastifyInstance } from "fastify";
import type {
  AnswerResult,
  Channels,
  OpenQuestion,
  QuestionAnswer,
  QuestionVia,
} from "../../../channels/index.ts";
import { findTurn } from "../../../channels/history.ts";
import type { Turn } from "../../../conversations/contract.ts";
import type { DashboardContext, ServiceContext } from "../context.ts";
import { httpErrors, isHttpError, refuse, required, type HttpErrorCode } from "../errors.ts";
import { answerBody, parseBody, parseQuery, questionsQuery, type WithId } from "../request.ts";
import { hasId } from "../../shared/question-fields.ts";
import type {
  AnsweredView,
  ListedQuestion,
  QuestionsView,
  QuestionView,
} from "../../shared/question-views.ts";
import { visibleText } from "../../shared/visible-text.ts";

/** The values of a form: 20 texts of 4 KiB, even if many characters are escaped. */
const maxAnswerBytes = 128 * 1024;
/** Only the owner can use these endpoints. */
const owner = { id: "owner" } as const;

/** @throws not_found if this deployment has no channels. */
export const requireChannels = ({ channels }: ServiceContext): Channels =>
  required(channels, "This deployment has no channels.");

function toView({ question: { durable: _, ...question }, ...open }: OpenQuestion): ListedQuestion {
  const label = visibleText(question.title ?? open.content.split("\n", 1)[0]!);
  return { ...open, label, question };
}

/** @returns The open questions of all nodes, oldest first. */
export async function questionsView(
  services: ServiceContext,
  filter: { readonly session?: string } = {},
): Promise<QuestionsView> {
  const found = await requireChannels(services).allQuestions(filter);
  return { questions: found.map(toView) };
}

/** @returns The session of a question of any node, if it is open or was settled recently. */
export async function sessionOf(
  services: ServiceContext,
  id: string,
): Promise<{ readonly channel: string; readonly session: string } | undefined> {
  const channels = requireChannels(services);
  const here = channels.findQuestion(id);
  if (here) return here;
  const found = (await channels.allQuestions()).find((one) => one.id === id);
  return found && { channel: found.channel, session: found.session };
}

/** Pages of turns in which the owner finds an earlier question or a tool call. */
export const maxPages = 50;

/** @returns The call that the question is about, in the form of the program. */
export async function findCall(
  services: ServiceContext,
  { channel, session, question: { toolCallId: id } }: QuestionView,
): Promise<unknown> {
  if (id === undefined) return undefined;
  const callIn = ({ toolCalls = [] }: Turn): unknown => toolCalls.find((call) => hasId(call, id));
  const fits = (turn: Turn): boolean => callIn(turn) !== undefined;
  const { history } = requireChannels(services);
  const turn = await findTurn(history, { channel, session }, fits, maxPages);
  return turn && callIn(turn);
}

/** @returns The open questions with the calls that they are about, for a terminal. */
export async function questionsWithCalls(services: ServiceContext): Promise<QuestionsView> {
  const { questions } = await questionsView(services);
  return {
    questions: await Promise.all(
      questions.map(async (one) => {
        const call = await findCall(services, one);
        return call === undefined ? one : { ...one, call };
      }),
    ),
  };
}

/** An answer with the session of its question. */
interface GivenAnswer {
  readonly channel: string;
  readonly session: string;
  readonly id: string;
  readonly answer: QuestionAnswer;
  readonly via: QuestionVia;
}

/** @throws store_unavailable if the answer could not be stored. */
export async function answerQuestion(
  services: ServiceContext,
  { channel, session, id, answer, via }: GivenAnswer,
): Promise<AnswerResult> {
  try {
    return await requireChannels(services).answer({ channel, session }, id, answer, owner, via);
  } catch (error) {
    const message = "The answer could not be stored; the question is still open.";
    if (isHttpError(error)) throw error;
    throw refuse("store_unavailable", { message });
  }
}

const codes: Readonly<Partial<Record<AnswerResult["status"], HttpErrorCode>>> = {
  already: "already_settled",
  unknown: "unknown_question",
  invalid: "invalid_answer",
};

/** @returns HTTP status and body of an answer. */
export function toAnswered({ status, settled, problem }: AnswerResult): {
  readonly status: number;
  readonly body: AnsweredView;
} {
  const code = codes[status];
  const view = { status, ...(settled && { settled }) };
  if (code === undefined) return { status: 200, body: view };
  const [httpStatus, message] = httpErrors[code];
  return { status: httpStatus, body: { error: code, message: problem ?? message, ...view } };
}

/** Adds `GET /api/questions` and `POST /api/questions/:id`. */
export function questionRoutes(app: FastifyInstance, context: DashboardContext): void {
  app.get("/api/questions", async (request, reply) => {
    const { session } = parseQuery(questionsQuery, request);
    const filter = session === undefined ? {} : { session };
    return reply.send(await questionsView(context.services, filter));
  });

  app.post("/api/questions/:id", { bodyLimit: maxAnswerBytes }, async (request, reply) => {
    const { channel, session, ...answer } = parseBody(answerBody, request);
    const { id } = (request as WithId).params;
    const via = "dashboard";
    const given = { channel, session, id, answer, via } as const;
    const { status, body } = toAnswered(await answerQuestion(context.services, given));
    return reply.code(status).send(body);
  });
}
