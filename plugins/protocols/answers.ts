// Answers the questions of a session, and finds the answers of the application that go on then.
import type { AnswerResult, Question, QuestionAnswer } from "../channels/index.ts";
import type { RunMark } from "./follower.ts";
import type { Protocol } from "./protocol.ts";
import { isAnswerId, toAnswerId, type RunQuestion } from "./questions.ts";
import type { KeptRun } from "./runs.ts";
import type { Call } from "./server.ts";

/** The answer of a client to one question. */
export interface ClientAnswer {
  /** Id of the question. */
  readonly id: string;
  /** @param question - Undefined if the session has not asked it, as far as the server knows. */
  toAnswer(question: Question | undefined): QuestionAnswer;
}

/** A question of the session, with the message to which its answer belongs. */
interface KnownQuestion extends RunQuestion {
  /** The message whose answer has asked. */
  readonly inReplyTo: string | undefined;
  /** The message whose answer goes on. */
  readonly request: string | undefined;
}

/** The effect of the answers of a request. */
interface AnsweredQuestions {
  /** The answer that goes on; undefined if no question is known, or nothing is followed. */
  readonly run: KeptRun | undefined;
  /** The part of it that the client has. */
  readonly from: RunMark | undefined;
  /** Question -> effect. */
  readonly results: ReadonlyMap<string, AnswerResult>;
  /** Ids that are not questions of the session. */
  readonly unknown: readonly string[];
  /** Settled questions that `run` does not contain. */
  readonly settled: readonly RunQuestion[];
}

/** Turns in which a settled question is looked up. */
const maxTurns = 200;

const requestOf = (id: string, { durable }: Question, inReplyTo?: string): string | undefined =>
  durable === undefined ? inReplyTo : toAnswerId(id);

/** Finds a question among the open ones of all nodes, in a kept answer, or in the history. */
async function findQuestions(
  { channel, channels }: Protocol,
  session: string,
  ids: readonly string[],
  kept: KeptRun | undefined,
): Promise<ReadonlyMap<string, KnownQuestion>> {
  const open = (await channel.questions(session)) ?? [];
  const known = new Map<string, KnownQuestion>();
  const isKnown = (id: string): boolean =>
    kept?.question(id) !== undefined || open.some((each) => each.id === id);
  const address = { channel: "pico", session };
  const turns = ids.every(isKnown)
    ? []
    : (await channels.history(address, { limit: maxTurns })).items;
  for (const id of ids) {
    const [asked, found] = [kept?.question(id), open.find((each) => each.id === id)];
    if (asked) {
      const request = requestOf(id, asked.question, kept?.requestId);
      known.set(id, { ...asked, inReplyTo: kept?.requestId, request });
      continue;
    }
    const turn = found ?? turns.find((each) => each.id === id);
    if (!turn?.question) continue;
    const { content, question, inReplyTo } = turn;
    const request = requestOf(id, question, inReplyTo);
    known.set(id, { id, content, question, sentence: "", inReplyTo, request });
  }
  return known;
}

/** Follows the answers before a question is settled, so that nothing is missed. */
async function followRequests(
  { runs }: Protocol,
  session: string,
  kept: KeptRun | undefined,
  requests: readonly string[],
): Promise<KeptRun | undefined> {
  const answers = requests.filter(isAnswerId);
  if (kept && (!kept.end || answers.length === 0)) {
    kept.follow(answers);
    return kept;
  }
  const [first, ...others] = requests;
  return first === undefined ? undefined : runs.join(session, [first, ...others]);
}

/** Outcomes of a durable question that the application receives as a message. */
const delivered: readonly unknown[] = ["answered", "dismissed", "expired"];

/**
 * Answers questions of one session. Those of another session are unknown, like any other id.
 *
 * @param follows - Whether the client receives what the application says after this question.
 * @throws store_unavailable if an answer could not be stored.
 */
export async function answerQuestions(
  protocol: Protocol,
  session: string,
  answers: readonly ClientAnswer[],
  by: Call["access"],
  follows: (asked: Pick<KnownQuestion, "inReplyTo">) => boolean = () => true,
): Promise<AnsweredQuestions> {
  const { runs, channel, channels } = protocol;
  const ids = answers.map(({ id }) => id);
  const kept = runs.asking(session, ids);
  const known = await findQuestions(protocol, session, ids, kept);
  const followed = [...known.values()].filter(follows);
  const requests = followed.flatMap(({ request = [] }) => request);
  const run =
    followed.length > 0 ? await followRequests(protocol, session, kept, requests) : undefined;
  const results = new Map<string, AnswerResult>();
  for (const { id, toAnswer } of answers) {
    const result = await channel.answer(session, id, toAnswer(known.get(id)?.question), by);
    results.set(id, result);
    if (result.settled) kept?.noteSettled(id);
  }
  for (const [id, { request = "" }] of known) {
    const { settled } = results.get(id)!;
    if (isAnswerId(request) && !delivered.includes(settled?.outcome)) run?.skip(request);
  }
  if (run && !run.end && [...results.values()].some(({ status }) => status === "already"))
    channels.deliverAnswers();
  const settled = [...known.values()].flatMap((asked) => {
    const { settled: settlement } = results.get(asked.id)!;
    if (!settlement || run?.question(asked.id)) return [];
    const question = { ...asked.question, state: "settled" as const, settled: settlement };
    return [{ ...asked, question }];
  });
  const unknown = ids.filter((id) => !known.has(id));
  const from = kept && run === kept ? kept.markOfLast(ids) : run?.before;
  return { run, from, results, unknown, settled };
}
