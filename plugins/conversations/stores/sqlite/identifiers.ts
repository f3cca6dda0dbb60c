// Makes the identifiers of the worker.
import { createHash } from "node:crypto";

/** The epochs and public ids that the worker gives itself, from a seed that the host passed. */
export class Identifiers {
  private readonly seed: string;
  private used = 0;

  constructor(seed: string) {
    this.seed = seed;
  }

  /** @returns 64 hexadecimal digits that no earlier call returned. */
  next(): string {
    return createHash("sha256")
      .update(`${this.seed}:${this.used++}`)
      .digest("hex");
  }
}
