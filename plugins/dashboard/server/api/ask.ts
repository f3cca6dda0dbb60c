/** `/ask/SESSION/ID`: one question, answered with a form. No GET settles a question. @module */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { findTurn } from "../../../channels/history.ts";
import type { Turn } from "../../../conversations/contract.ts";
import type { AskData } from "../../pages/render.tsx";
import { nothingChosen, toAnswer, type FieldProblem } from "../../shared/question-fields.ts";
import type { QuestionView } from "../../shared/question-views.ts";
import { visibleText } from "../../shared/visible-text.ts";
import { rejectOrigin } from "../auth/guard.ts";
import { hasCsrfToken } from "../auth/sign-out.ts";
import type { DashboardContext } from "../context.ts";
import { sendRedirect } from "../reply.ts";
import { askBody, maxAskBytes, parseBody, requestState } from "../request.ts";
import { sendConsolePage } from "./console-page.ts";
import { answerQuestion, findCall, maxPages, questionsView, requireChannels } from "./questions.ts";

type Params = FastifyRequest<{ Params: { session: string; id: string } }>;

const pathOf = ({ session, id }: Params["params"]): string =>
  `/ask/${encodeURIComponent(session)}/${encodeURIComponent(id)}`;

/** An open question, or a settled one that its conversation still has. */
async function findQuestion(
  { services }: DashboardContext,
  { session, id }: Params["params"],
): Promise<QuestionView | undefined> {
  const { questions } = await questionsView(services, { session });
  const open = questions.find((one) => one.id === id);
  if (open) return open;
  const channels = requireChannels(services);
  const address = channels.findQuestion(id) ?? { channel: "pico", session };
  if (address.session !== session) return undefined;
  const fits = (turn: Turn): boolean => turn.id === id && turn.question !== undefined;
  const turn = await findTurn(channels.history, address, fits, maxPages);
  if (!turn?.question) return undefined;
  const { durable: _, ...question } = turn.question;
  const { content, at, unfinished } = turn;
  return { ...address, id, content, at, question, ...(unfinished && { unfinished }) };
}

/** Separates the name of the field from the sentence about it. */
function toProblem(text = "This answer is not valid."): FieldProblem {
  const [, field = "", rest = text] = /^"([^"]+)": (.+)$/s.exec(text) ?? [];
  return { field, text: rest.slice(0, 1).toUpperCase() + rest.slice(1) };
}

/** Adds the page and its form. */
export function askRoutes(app: FastifyInstance, context: DashboardContext): void {
  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    extra: Pick<AskData, "problem" | "given" | "isLate"> = {},
  ): Promise<FastifyReply> {
    const { params } = request as Params;
    const view = await findQuestion(context, params);
    const call = view && (await findCall(context.services, view));
    const found = extra.problem === undefined ? 200 : 422;
    const data = {
      path: pathOf(params),
      ...(view && { view }),
      ...(call !== undefined && { call }),
      ...extra,
    };
    const title = visibleText(view?.question.title ?? "Question");
    const status = view ? found : 404;
    return sendConsolePage(context, request, reply, {
      page: "ask",
      title,
      route: "",
      data,
      status,
    });
  }

  app.get("/ask/:session/:id", (request, reply) =>
    show(request, reply, { isLate: (request.query as { late?: unknown }).late === "1" }),
  );
  app.post("/ask/:session/:id", { bodyLimit: maxAskBytes }, async (request, reply) => {
    const { session } = requestState(request);
    if (session && !hasCsrfToken(context.auth, request, session)) rejectOrigin(context, request);
    const { params } = request as Params;
    const view = await findQuestion(context, params);
    if (!view) return show(request, reply);
    const { csrf: _, ...body } = parseBody(askBody, request);
    const answer = toAnswer(view.question, body);
    if (Object.keys(answer).length === 0)
      return show(request, reply, { problem: nothingChosen, given: body });
    const given = { channel: view.channel, session: view.session, id: view.id, answer } as const;
    const result = await answerQuestion(context.services, { ...given, via: "ask" });
    if (result.status === "invalid")
      return show(request, reply, { problem: toProblem(result.problem), given: body });
    const late = result.status === "already" ? "?late=1" : "";
    return sendRedirect(context.site, reply, 303, `${pathOf(params)}${late}`);
  });
}
