// Delivers the answers of durable questions to the application, as messages.
import { codeOf, type Log, type Release } from "../../kernel/index.ts";
import { keyOf } from "../../lib/util.ts";
import { effectOf } from "./question-answer.ts";
import { toSentence } from "./question-text.ts";
import type {
  Address,
  DeliveryCallbacks,
  DurableAnswer,
  InboundMessage,
  OpenQuestion,
} from "./contract.ts";

interface DurableAnswersOptions {
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  readonly deliver: (
    message: InboundMessage,
    callbacks: DeliveryCallbacks,
    options: { readonly dedupe: boolean },
  ) => void;
}

/** Pause before an answer that no application could accept is delivered again. */
const retryMs = 5_000;
/** Start of the ids of these messages. The rest is the id of the question. */
const prefix = "answer:";
const reservedForm = /^answer:[0-9a-f]{32}$/;

/** True if a message with this id could take the place of an answer, so clients cannot use it. */
export const isAnswerId = (id: string): boolean => reservedForm.test(id);

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

interface WaitingAnswer {
  readonly message: InboundMessage;
  isDelivering: boolean;
  hasFailed: boolean;
}

const isOver = (error: unknown): boolean => ["stopped", "id_reused"].includes(codeOf(error));

export class DurableAnswers {
  private readonly options: DurableAnswersOptions;
  /** Answers that no application has accepted, by the session and id of their question. */
  private readonly waiting = new Map<string, WaitingAnswer>();
  private stopTimer: Release | undefined;

  constructor(options: DurableAnswersOptions) {
    this.options = options;
  }

  /** Delivers an answer, after those that were added before. */
  add(question: OpenQuestion): void {
    const key = keyOf(question.channel, question.session, question.id);
    if (this.waiting.has(key)) return;
    this.waiting.set(key, {
      message: toMessage(question),
      isDelivering: false,
      hasFailed: false,
    });
    this.deliverAll();
  }

  /** Drops the answers of a session whose conversation is deleted, or that another node has. */
  forget({ channel, session }: Address): void {
    for (const [key, { message }] of this.waiting)
      if (message.channel === channel && message.session === session) this.waiting.delete(key);
  }

  /** Delivers all answers that are not being delivered. */
  deliverAll(): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    for (const [key, entry] of this.waiting) {
      if (entry.isDelivering) continue;
      entry.isDelivering = true;
      const over = (): void => void (this.waiting.get(key) === entry && this.waiting.delete(key));
      const callbacks: DeliveryCallbacks = {
        accepted: over,
        rejected: (error) => {
          entry.isDelivering = false;
          if (isOver(error)) over();
          else this.retry(entry, error);
        },
      };
      this.options.deliver(entry.message, callbacks, { dedupe: true });
    }
  }

  private retry(entry: WaitingAnswer, error: unknown): void {
    const { id } = entry.message;
    const text = "no application could accept the answer to a question; it is delivered again";
    if (!entry.hasFailed) this.options.log.info({ id, code: codeOf(error) }, text);
    entry.hasFailed = true;
    this.stopTimer ??= this.options.after(retryMs, () => this.deliverAll());
  }
}
