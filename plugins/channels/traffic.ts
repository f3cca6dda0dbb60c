// Counts the messages of all channels, and keeps the times of the newest answers.
interface AnswerTime {
  readonly at: number;
  readonly ms: number;
}

export interface TrafficCounts {
  received: number;
  sent: number;
  readonly answers: AnswerTime[];
}

const maxAnswers = 1_000;

export const createTrafficCounts = (): TrafficCounts => ({ received: 0, sent: 0, answers: [] });

/** Keeps the newest 1,000 times. */
export function addAnswer({ answers }: TrafficCounts, answer: AnswerTime): void {
  answers.push(answer);
  if (answers.length > maxAnswers) answers.shift();
}
