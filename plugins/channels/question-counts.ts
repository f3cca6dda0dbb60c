// Counts questions, for metrics.
import type { QuestionCounts, QuestionOutcome, QuestionVia } from "./contract.ts";

/** Seconds: people answer within moments or days. */
const bounds = [1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400, 604_800] as const;

export class QuestionCounter {
  open = 0;
  private readonly counts = new Map<string, QuestionCounts["settled"][number]>();
  private readonly buckets = bounds.map(() => 0);
  private count = 0;
  private sum = 0;

  /** @param ms - Milliseconds since the question was asked. */
  settled(outcome: QuestionOutcome, via: QuestionVia, ms: number): void {
    const key = `${outcome} ${via}`;
    const count = (this.counts.get(key)?.count ?? 0) + 1;
    this.counts.set(key, { outcome, via, count });
    if (outcome !== "answered") return;
    const seconds = ms / 1_000;
    bounds.forEach((bound, index) => {
      if (seconds <= bound) this.buckets[index]! += 1;
    });
    this.count += 1;
    this.sum += seconds;
  }

  read(): QuestionCounts {
    const waits = { bounds, counts: [...this.buckets], count: this.count, sum: this.sum };
    return { open: this.open, settled: [...this.counts.values()], waits };
  }
}
