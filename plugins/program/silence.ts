/** Messages without an answer after which a program is taken for hung. */
const maxTimeoutsInRow = 3;

/** Knows when a program has stopped answering: messages timed out one after the other, each begun when the one before
 *  had timed out, and it wrote nothing meanwhile, on standard error either. One that has not said anything since it was
 *  started may still be loading. */
export interface HangDetector {
  /** A message begins to wait; `passed` takes the answer when its time is over. */
  mark(): number;
  passed(mark: number): void;
  broken(): void;
  /** Another process. */
  begin(): void;
}

export function createHangDetector(hung: (why: string) => void): HangDetector {
  let round = 0;
  let unanswered = 0;
  let hasSpoken = false;

  return {
    mark: () => round,
    passed(mark) {
      if (mark !== round || !hasSpoken) return;
      round += 1;
      unanswered += 1;
      if (unanswered === maxTimeoutsInRow)
        hung(`it gave no sign of ${maxTimeoutsInRow} messages in a row`);
    },
    broken() {
      hasSpoken = true;
      unanswered = 0;
    },
    begin() {
      hasSpoken = false;
      unanswered = 0;
    },
  };
}
