/** Shares the drawing of long texts among frames, so that the page still reacts. @module */

/**
 * Units of one frame. A unit is the cost of one character. With its layout, a frame then takes
 * about 60 ms on a processor that is four times slower than a desktop computer.
 */
const unitsPerFrame = 6_000;
/** An element with its component. */
const elementCost = 60;
const lineCost = 10;
/** A run of letters that are written from right to left is laid out on its own. */
const rightToLeftCost = 60;
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]+/g;
/** While a page is hidden, it has no frames. */
const hiddenMs = 250;

let left = unitsPerFrame;
let isScheduled = false;
/** Costs by what draws, in the order of the page. */
const waiting = new Map<() => void, number>();

/** Estimates what the drawing of an element with this text costs. */
export function drawCost(text: string): number {
  const lines = text.match(/\n/g)?.length ?? 0;
  const runs = text.match(rightToLeft)?.length ?? 0;
  return elementCost + text.length + lineCost * lines + rightToLeftCost * runs;
}

/**
 * Takes units of this frame. The first taker of a frame always gets them.
 *
 * @returns False if the frame has too few left.
 */
export function takeUnits(cost: number): boolean {
  if (typeof document === "undefined") return true; // The server draws everything immediately.
  schedule();
  if (cost > left && left < unitsPerFrame) return false;
  left -= cost;
  return true;
}

/** Calls `draw` in a frame that has units left, and takes them. */
export function drawLater(draw: () => void, cost: number): void {
  waiting.set(draw, cost);
  schedule();
}

/** Forgets a call of `drawLater`. */
export const drawNever = (draw: () => void): void => void waiting.delete(draw);

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  let isDone = false;
  const next = (): void => {
    if (isDone) return;
    isDone = true;
    isScheduled = false;
    left = unitsPerFrame;
    for (const [draw, cost] of waiting) {
      if (!takeUnits(cost)) break;
      waiting.delete(draw);
      draw();
    }
  };
  requestAnimationFrame(next);
  setTimeout(next, hiddenMs);
}
