// Counts the batches of a store: how long they took, and why they failed.
import { codeOf } from "../../kernel/index.ts";
import type { StoreMetrics } from "./contract.ts";

/** Seconds. */
const bounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

export class CommitMetrics {
  private readonly counts = bounds.map(() => 0);
  private readonly errors: Record<string, number> = {};
  private count = 0;
  private sum = 0;

  committed(seconds: number): void {
    this.count += 1;
    this.sum += seconds;
    for (const [at, bound] of bounds.entries()) if (seconds <= bound) this.counts[at]! += 1;
  }

  failed(error: unknown): void {
    const code = codeOf(error);
    this.errors[code] = (this.errors[code] ?? 0) + 1;
  }

  read(): StoreMetrics {
    const { count, sum } = this;
    return {
      errors: { ...this.errors },
      commits: { bounds, counts: [...this.counts], count, sum },
    };
  }
}
