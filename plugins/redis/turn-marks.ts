// Adds to the turns of a session how their answers have ended, and what no store has written.
import type { RunningMessage, StoredEnd, StoredQuestion, Turn } from "../conversations/contract.ts";
import { payloadOf } from "../conversations/turn-frames.ts";
import { answerTurns, hasAnswer, unfinishedOf } from "../conversations/unfinished.ts";
import type { StreamEntry } from "./replies.ts";

type Ends = ReadonlyMap<string, StoredEnd | null>;

interface Sources {
  /** The entries of the turns, oldest first. */
  readonly entries: readonly StreamEntry[];
  readonly ends: () => Promise<Ends>;
  /** Undefined if the node that has the session does not answer. */
  readonly workedOn: () => Promise<readonly RunningMessage[] | undefined>;
  readonly questions: () => Promise<readonly StoredQuestion[]>;
}

const withEnds = (turns: readonly Turn[], ends: Ends): readonly Turn[] =>
  turns.map((turn) => ({ ...turn, ...ends.get(turn.requestId ?? "") }));

const hasNoEnd = ({ role, requestId, outcome }: Turn): boolean =>
  role !== "assistant" && requestId !== undefined && outcome === undefined;

const isAnswered = ({ question }: Turn): boolean => question?.settled?.outcome === "answered";

/** A message that no node works on and that has no complete answer ended with its node. */
function markLost(turns: readonly Turn[], isRunning: (request: string) => boolean): Turn[] {
  return turns.map((turn, at): Turn => {
    if (!hasNoEnd(turn) || isRunning(turn.requestId!)) return turn;
    const next = turns.slice(at + 1, at + 1 + answerTurns);
    return hasAnswer(next, turn.requestId!) ? turn : { ...turn, outcome: "lost" };
  });
}

export async function markTurns(
  turns: readonly Turn[],
  sources: Sources,
): Promise<readonly Turn[]> {
  const first = withEnds(turns, await sources.ends());
  if (!first.some((turn) => hasNoEnd(turn) || isAnswered(turn))) return first;
  const running = await sources.workedOn();
  if (!running) return first;
  // The answers that no node works on any more have ended before this.
  const ends = await sources.ends();
  const ids = new Set(running.map(({ id }) => id));
  const isRunning = (request: string): boolean => ids.has(request);
  const marked = markLost(withEnds(turns, ends), isRunning);
  if (!marked.some(isAnswered)) return marked;
  const waiting = new Set(
    (await sources.questions()).flatMap(({ id, question }) =>
      question.state === "settled" ? [id] : [],
    ),
  );
  return marked.map((turn) => {
    const settledAt = sources.entries.findLast(({ head }) => head.m === turn.id)?.seq ?? turn.seq;
    const unfinished = unfinishedOf(turn, {
      isRunning,
      isWaiting: (id) => waiting.has(id),
      endOf: (request) => ends.get(request),
      later: () =>
        sources.entries
          .filter(({ seq, head }) => seq > settledAt && head.t !== "message.delete")
          .map(({ head, frame }) => ({
            isUser: head.t === "message.user",
            request: payloadOf(frame).request_id,
          })),
    });
    return unfinished ? { ...turn, unfinished } : turn;
  });
}
