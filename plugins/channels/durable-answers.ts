// Delivers the answers of durable questions to the application, as messages.
import { codeOf, type Log, type Release } from "../../kernel/index.ts";
import { effectOf } from "./question-answer.ts";
import { toSentence } from "./question-text.ts";
import type {
  Address,
  DeliveryCallbacks,
  DurableAnswer,
  InboundMessage,
  OpenQuestion,
} from "./contract.ts";
import type { WaitingAnswer } from "./session.ts";
import type { Sessions } from "./sessions.ts";

interface DurableAnswersOptions {
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  readonly deliver: (
    message: InboundMessage,
    callbacks: DeliveryCallbacks,
    options: { readonly dedupe: boolean },
  ) => void;
  /** No application could accept the answer yet. */
  readonly waits: (question: Address & { readonly id: string }) => void;
}

/** Pause before an answer that no application could accept is delivered again. */
const retryMs = 5_000;
/** Start of the ids of these messages. The rest is the id of the question. */
const prefix = "answer:";
/** A message with such an id could take the place of an answer, so clients cannot use it. */
export const answerIdPattern = /^answer:[0-9a-f]{32}$/;

/** @returns The message that delivers the answer. */
function toMessage({ channel, session, id, content, question }: OpenQuestion): InboundMessage {
  const { settled, durable } = question;
  const { by, at, ...given } = settled!;
  const effect = effectOf(question, settled!);
  const answer: DurableAnswer = {
    key: durable!,
    messageId: id,
    ...given,
    ...(effect && { effect }),
  };
  const text = `${content}\n\n${toSentence(question, settled!, "")}`;
  return {
    channel,
    session,
    id: `${prefix}${id}`,
    content: text,
    media: [],
    ...(by && { sender: by }),
    answer,
    at,
    hops: 0,
  };
}

const isOver = (error: unknown): boolean => ["stopped", "id_reused"].includes(codeOf(error));

export class DurableAnswers {
  private readonly options: DurableAnswersOptions;
  private readonly sessions: Sessions;
  private stopTimer: Release | undefined;

  constructor(options: DurableAnswersOptions, sessions: Sessions) {
    this.options = options;
    this.sessions = sessions;
  }

  /** Delivers an answer, after those that were added before. */
  add(question: OpenQuestion): void {
    const session = this.sessions.open(question);
    const answers = (session.answers ??= new Map());
    if (answers.has(question.id)) return;
    answers.set(question.id, {
      message: toMessage(question),
      isDelivering: false,
      hasFailed: false,
    });
    this.deliverAll();
  }

  /** Delivers all answers that are not being delivered. */
  deliverAll(): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    for (const { answers } of this.sessions.list())
      for (const [id, entry] of answers ?? []) if (!entry.isDelivering) this.deliver(answers!, id);
  }

  private deliver(answers: Map<string, WaitingAnswer>, id: string): void {
    const entry = answers.get(id)!;
    entry.isDelivering = true;
    const over = (): void => void (answers.get(id) === entry && answers.delete(id));
    const callbacks: DeliveryCallbacks = {
      accepted: over,
      rejected: (error) => {
        entry.isDelivering = false;
        if (isOver(error)) over();
        else this.retry(entry, id, error);
      },
    };
    this.options.deliver(entry.message, callbacks, { dedupe: true });
  }

  private retry(entry: WaitingAnswer, question: string, error: unknown): void {
    const { id, channel, session } = entry.message;
    const text = "no application could accept the answer to a question; it is delivered again";
    if (!entry.hasFailed) this.options.log.info({ id, code: codeOf(error) }, text);
    entry.hasFailed = true;
    this.options.waits({ channel, session, id: question });
    this.stopTimer ??= this.options.after(retryMs, () => this.deliverAll());
  }
}
