/** Signals that are drawn at most once per frame. @module */
import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

/**
 * Reads a signal that may change many times between two frames, such as a growing answer. While the
 * page is hidden, nothing is drawn.
 */
export function useFrameValue<T>(source: ReadonlySignal<T>): T {
  const [, redraw] = useState({});
  useEffect(() => {
    let frame = 0;
    const stop = source.subscribe(() => {
      if (frame !== 0) return;
      frame = requestAnimationFrame(() => {
        frame = 0;
        redraw({});
      });
    });
    return () => {
      cancelAnimationFrame(frame);
      stop();
    };
  }, [source]);
  return source.peek();
}
