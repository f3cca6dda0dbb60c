// Says what became of an answered question, from its settlement and the end of its answer.
import type { StoredEnd, Turn } from "./contract.ts";

/** Start of the id of the message that delivers the answer to a durable question. */
const answerPrefix = "answer:";

/** A frame that was stored after the settlement. */
interface LaterFrame {
  /** The message that the frame answers or, of a person, its id. */
  readonly request: unknown;
  readonly isUser: boolean;
}

interface AnswerFacts {
  /** True while no application has accepted the answer of the durable question with this id. */
  isWaiting(id: string): boolean;
  /** True for a message that an application works on. */
  isRunning(request: string): boolean;
  /** The end of the answer to a message. Nothing if none is stored. */
  endOf(request: string): StoredEnd | null | undefined;
  /** The first frames after the settlement. */
  readonly later: () => readonly LaterFrame[];
}

/** True if the process that worked on the message ended before the answer. */
const isCut = ({ outcome, code }: StoredEnd): boolean =>
  (outcome === "failed" && code === "application_ended") ||
  (outcome === "stopped" && code === "not_running");

/** Turns after a message among which its complete answer is looked for. */
export const answerTurns = 8;

/** True if one of the turns that follow a message is its complete answer. */
export const hasAnswer = (next: readonly Turn[], request: string): boolean =>
  next.some(
    ({ inReplyTo, kind, complete, question }) =>
      inReplyTo === request && kind === undefined && complete !== false && question === undefined,
  );

/** @returns True if a person has said yes, or has given what was asked for. */
function isYes({ question }: Turn): boolean {
  const { settled, options = [] } = question ?? {};
  const chosen = options.find(({ id }) => id === settled?.option);
  return settled?.outcome === "answered" && chosen?.effect !== "deny";
}

/** @returns The field `unfinished` of a turn. */
export function unfinishedOf(turn: Turn, facts: AnswerFacts): Turn["unfinished"] {
  if (!isYes(turn)) return undefined;
  if (facts.isWaiting(turn.id)) return "waiting";
  const later = facts.later();
  const answer = `${answerPrefix}${turn.id}`;
  const isDelivered = later.some(({ isUser, request }) => isUser && request === answer);
  const run = isDelivered ? answer : turn.inReplyTo;
  if (run === undefined || facts.isRunning(run)) return undefined;
  const end = facts.endOf(run);
  if (end && !isCut(end)) return undefined;
  const hasWritten = later.some(({ isUser, request }) => !isUser && request === run);
  return hasWritten ? undefined : "ended";
}
