// Passes the answers of a client to the questions of an answer.
import type { AnswerResult, Question, QuestionAnswer, Sender } from "../channels/index.ts";
import type { PicoProtocol } from "../pico-server/index.ts";
import type { KeptRun, Runs } from "./runs.ts";

/** The answer of a client to one question. */
export interface ClientAnswer {
  /** Id of the question. */
  readonly id: string;
  /** @param question - Undefined if the session has not asked it, as far as the server knows. */
  toAnswer(question: Question | undefined): QuestionAnswer;
}

interface AnswerTarget {
  readonly runs: Pick<Runs, "asking">;
  readonly channel: Pick<PicoProtocol, "answer">;
}

/** The effect of the answers of a request. */
interface AnsweredQuestions {
  /** The answer that has asked; undefined if it is not kept. */
  readonly kept: KeptRun | undefined;
  /** Question -> effect. */
  readonly results: ReadonlyMap<string, AnswerResult>;
}

/**
 * Answers questions of one session. Those of another session are unknown, like any other id.
 *
 * @throws store_unavailable if an answer could not be stored.
 */
export async function answerQuestions(
  { runs, channel }: AnswerTarget,
  session: string,
  answers: readonly ClientAnswer[],
  by: Sender,
): Promise<AnsweredQuestions> {
  const ids = answers.map(({ id }) => id);
  const kept = runs.asking(session, ids);
  const results = new Map<string, AnswerResult>();
  for (const { id, toAnswer } of answers) {
    const answer = toAnswer(kept?.run.question(id)?.question);
    const result = await channel.answer(session, id, answer, by);
    results.set(id, result);
    if (result.settled) kept?.run.noteSettled(id);
  }
  return { kept, results };
}
