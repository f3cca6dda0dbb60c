// Describes the end of the work on a message.
import { codeOf } from "../../kernel/index.ts";
import { defined } from "../../lib/util.ts";
import type { AnswerEnd, EndOptions } from "./contract.ts";
import { sentenceForReaders } from "./sender-error.ts";

/** The code of an error, and its sentence if it may be in the history. */
export type Failure = Pick<AnswerEnd, "message"> & { readonly code: string };

export const toFailure = (error: unknown): Failure => ({
  code: codeOf(error),
  ...defined({ message: sentenceForReaders(error) }),
});

interface EndFacts {
  readonly givenEnd: EndOptions | undefined;
  readonly failure: Failure | undefined;
  readonly isStopped: boolean;
  /** The stop of the kernel ended a text, or came before one. */
  readonly isCut: boolean;
  /** The application named the reason of the end before a stop. */
  readonly isComplete: boolean;
  readonly messages: number;
}

export function toAnswerEnd(facts: EndFacts): AnswerEnd {
  const { givenEnd, failure, isStopped, isComplete, messages } = facts;
  const isCut = facts.isCut && !isStopped && !isComplete;
  const hasStopped = isCut || (isStopped && !isComplete);
  const hasFailed = failure !== undefined && !isStopped;
  const outcome = hasStopped ? "stopped" : hasFailed ? "failed" : "completed";
  if (outcome === "completed" && !givenEnd) return { outcome, finishReason: "stop", messages };
  const { suggestions = [] } = givenEnd ?? {};
  const reasons = { stopped: "stopped", failed: "error", completed: "stop" } as const;
  return {
    outcome,
    ...(hasFailed && failure),
    ...(isCut && { code: "not_running" }),
    finishReason: (hasFailed ? undefined : givenEnd?.finishReason) ?? reasons[outcome],
    messages,
    ...(givenEnd?.usage && { usage: givenEnd.usage }),
    ...(givenEnd?.model !== undefined && { model: givenEnd.model }),
    ...(outcome === "completed" && suggestions.length > 0 && { suggestions }),
  };
}
