/** A small line without axes, drawn the same by the server and the browser. @module */
import type { JSX } from "preact";

const sparkWidth = 100;
const sparkHeight = 30;

const round = (value: number): string => String(Math.round(value * 10) / 10);

/** Joins points to a path. */
export const lineThrough = (points: readonly (readonly [x: number, y: number])[]): string =>
  points.map(([x, y], at) => `${at === 0 ? "M" : "L"}${round(x)},${round(y)}`).join("");

interface SparkProps {
  readonly values: readonly number[];
  /** Uses the colour of the second series. */
  readonly second?: boolean;
}

/** A line without axes. The figure next to it shows the newest value. */
export function Spark({ values, second }: SparkProps): JSX.Element {
  const highest = Math.max(...values, 1) * 1.15;
  const step = sparkWidth / Math.max(1, values.length - 1);
  const line = lineThrough(
    values.map((value, at) => [at * step, sparkHeight - (value / highest) * sparkHeight]),
  );
  return (
    <svg
      class={`spark ${second ? "two" : ""}`}
      viewBox={`0 0 ${sparkWidth} ${sparkHeight}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="area" d={`${line}L${sparkWidth},${sparkHeight}L0,${sparkHeight}Z`} />
      <path d={line} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
