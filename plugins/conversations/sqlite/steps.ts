// Reads that take long, in steps: other work of the event loop runs between them.

export type Steps<T> = Generator<undefined, T>;

/** Runs all steps in this turn. */
export function complete<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/**
 * Runs one step in each turn of the event loop.
 *
 * @param reading - Runs each step.
 */
export async function inTurns<T>(reading: <R>(run: () => R) => R, steps: Steps<T>): Promise<T> {
  for (;;) {
    const step = reading(() => steps.next());
    if (step.done) return step.value;
    await new Promise((resolve) => void setImmediate(resolve));
  }
}
