/** Limits how often something runs. @module */

/** Returns a function that runs `act` immediately, then at most once per interval. */
export function throttle(intervalMs: number, act: () => unknown): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ranAt = -Infinity;
  return () => {
    if (timer !== undefined) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        ranAt = performance.now(); // monotonic, unlike Date.now()
        void act();
      },
      Math.max(0, ranAt + intervalMs - performance.now()),
    );
  };
}
