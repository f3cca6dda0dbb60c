/** `/ask/SESSION/ID`: one question, answered with a form. No GET settles a question. @module */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { QuestionAnswer } from "../../../channels/index.ts";
import type { AskData } from "../../pages/render.tsx";
import type { QuestionView } from "../../shared/question-views.ts";
import { rejectOrigin } from "../auth/guard.ts";
import { hasCsrfToken } from "../auth/sign-out.ts";
import type { DashboardContext } from "../context.ts";
import { sendRedirect } from "../reply.ts";
import { askBody, maxAskBytes, parseBody, requestState, type AskBody } from "../request.ts";
import { sendConsolePage } from "./console-page.ts";
import { answerQuestion, questionsView, requireChannels } from "./questions.ts";

type Params = FastifyRequest<{ Params: { session: string; id: string } }>;

const pathOf = ({ session, id }: Params["params"]): string =>
  `/ask/${encodeURIComponent(session)}/${encodeURIComponent(id)}`;

/** Settled questions are found in the latest turns of their conversation. */
async function findQuestion(
  { services }: DashboardContext,
  { session, id }: Params["params"],
): Promise<QuestionView | undefined> {
  const { questions } = questionsView(services, { session });
  const open = questions.find((one) => one.id === id);
  if (open) return open;
  const address = requireChannels(services).findQuestion(id) ?? { channel: "pico", session };
  if (address.session !== session) return undefined;
  const { items } = await requireChannels(services).history(address, { limit: 200 });
  const turn = items.find((one) => one.id === id && one.question !== undefined);
  if (!turn?.question) return undefined;
  const { durable: _, ...question } = turn.question;
  return { ...address, id, content: turn.content, at: turn.at, question };
}

/** The value of a field in the type that its schema names. */
function toValue(type: unknown, given: string | readonly string[]): unknown {
  if (type === "array") return typeof given === "string" ? [given] : given;
  const text = typeof given === "string" ? given : given.join(", ");
  if (type === "boolean") return text === "true";
  const isNumber = (type === "number" || type === "integer") && text.trim() !== "";
  return isNumber ? Number(text) : text;
}

function valuesOf({ question }: QuestionView, body: AskBody): Readonly<Record<string, unknown>> {
  const entries = Object.entries(question.schema?.properties ?? {}).flatMap(([name, property]) => {
    const given = body[`value.${name}`];
    const isEmpty = given === undefined || given === "";
    return isEmpty ? [] : [[name, toValue(property.type, given)] as const];
  });
  return Object.fromEntries(entries);
}

const listOf = (given: string | readonly string[] | undefined): readonly string[] =>
  given === undefined ? [] : typeof given === "string" ? [given] : given;

function toAnswer(view: QuestionView, body: AskBody): QuestionAnswer {
  const { kind, multiple = false } = view.question;
  if (body["dismiss"] !== undefined) return { dismiss: true };
  if (kind === "form") return { values: valuesOf(view, body) };
  const chosen = listOf(body["option"]);
  const text = listOf(body["text"]).join(" ").trim();
  return {
    ...(multiple && chosen.length > 0 && { options: chosen }),
    ...(!multiple && chosen[0] !== undefined && { option: chosen[0] }),
    ...(text !== "" && { text }),
  };
}

/** Adds the page and its form. */
export function askRoutes(app: FastifyInstance, context: DashboardContext): void {
  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    extra: Pick<AskData, "problem" | "isLate"> = {},
  ): Promise<FastifyReply> {
    const { params } = request as Params;
    const view = await findQuestion(context, params);
    const found = extra.problem === undefined ? 200 : 422;
    const data = { path: pathOf(params), ...(view && { view }), ...extra };
    const title = view?.question.title ?? "Question";
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
    const answer = toAnswer(view, parseBody(askBody, request));
    const given = { channel: view.channel, session: view.session, id: view.id, answer } as const;
    const result = await answerQuestion(context.services, { ...given, via: "dashboard" });
    if (result.status === "invalid")
      return show(request, reply, { problem: result.problem ?? "This answer is not valid." });
    const late = result.status === "already" ? "?late=1" : "";
    return sendRedirect(context.site, reply, 303, `${pathOf(params)}${late}`);
  });
}
