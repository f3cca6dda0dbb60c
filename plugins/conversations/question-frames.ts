// Questions in stores, and how they are read from the frames of a log.
import { questionContent, readQuestion, type WireQuestion } from "../../lib/pico-wire/index.ts";
import type { OpenQuestion, Question } from "./question.ts";
import type { Address } from "./address.ts";

/** An open question in a store, or one whose answer no application has accepted. */
export type StoredQuestion = OpenQuestion;

/** The index of open questions and of answers that no application has accepted. */
export interface StoredQuestions {
  /**
   * Lists them, oldest first.
   *
   * @param address - Only those of this session. @defaultValue all
   * @throws store_unavailable if the store cannot be read.
   */
  list(address?: Address): Promise<readonly StoredQuestion[]>;
  /** Sets the listener that runs when another node has asked or settled a question; absent unless
   *  several nodes share the store. */
  watch?(listener: () => void): void;
  /**
   * Lists the sessions in which questions were lost at that time or later. This is not a use of the
   * conversation, so that a list in the order of use may not begin with them.
   *
   * @param since - Unix milliseconds.
   * @throws store_unavailable if the store cannot be read.
   */
  lostSince?(since: number): Promise<readonly Address[]>;
}

/** The note of a log about an entry with a question. */
export interface QuestionMark {
  /** `undelivered`: settled, and the application must still receive the answer. */
  readonly state: "open" | "settled" | "undelivered";
  /** Key of a durable question. */
  readonly durable?: string | undefined;
  /** True if the entry does not count as a use of the conversation. */
  readonly isQuiet?: boolean;
}

/** @returns The field `question` of a message. The key of a durable question stays here. */
export function toWireQuestion(question: Question): WireQuestion {
  const { toolCallId, expiresAt, durable: _, state, settled, ...rest } = question;
  return {
    ...rest,
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    state,
    ...(settled && { settled }),
  };
}

/** Outcomes of a durable question whose answer the application receives as a message. */
const delivered: readonly string[] = ["answered", "dismissed", "expired"];

/** @returns What the log notes about the message of a question. */
export function toMark({ state, settled, durable }: Question): QuestionMark {
  if (state === "open") return { state, durable };
  const isDelivered = durable !== undefined && delivered.includes(settled!.outcome);
  // A lost question does not bring its conversation to the front.
  const isQuiet = settled!.outcome === "lost";
  return { state: isDelivered ? "undelivered" : "settled", durable, isQuiet };
}

/** The log holds questions that this process, or one like it, has checked. */
function toQuestion(wire: WireQuestion, durable?: string): Question {
  const { tool_call_id, expires_at, ...rest } = wire;
  const question = {
    ...rest,
    ...(tool_call_id !== undefined && { toolCallId: tool_call_id }),
    ...(expires_at !== undefined && { expiresAt: expires_at }),
    ...(durable !== undefined && { durable }),
  };
  return question as Question;
}

type Payload = Readonly<Record<string, unknown>>;

/** @returns The question of a message; undefined if it has none. */
export function questionOf(payload: Payload): Question | undefined {
  const wire = readQuestion(payload.question);
  return wire && toQuestion(wire);
}

interface QuestionSource extends Address {
  readonly id: string;
  readonly at: number;
  readonly durable: string | undefined;
  /** The payload of the frame that asks. */
  readonly asked: Payload;
  /** The payload of the frame that settles, if the answer is undelivered. */
  readonly settled?: Payload | undefined;
}

/** @returns The question; undefined if a frame has none. */
export function toStoredQuestion(source: QuestionSource): StoredQuestion | undefined {
  const { channel, session, id, at, durable, asked, settled } = source;
  const wire = readQuestion((settled ?? asked).question);
  if (!wire) return undefined;
  const { content, request_id: request } = asked;
  return {
    ...{ channel, session, id, at },
    content: questionContent(typeof content === "string" ? content : ""),
    ...(typeof request === "string" && { inReplyTo: request }),
    question: toQuestion(wire, durable),
  };
}
