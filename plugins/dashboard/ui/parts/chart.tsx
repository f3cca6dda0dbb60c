/** Charts as SVG, drawn the same by the server and the browser. @module */
import type { JSX } from "preact";

const width = 100;
const height = 30;

const round = (value: number): string => String(Math.round(value * 10) / 10);

/** A line without axes. The figure next to it shows the newest value. */
export function Spark({
  values,
  second,
}: {
  readonly values: readonly number[];
  readonly second?: boolean;
}): JSX.Element {
  const highest = Math.max(...values, 1) * 1.15;
  const line = values
    .map((value, at) => {
      const x = values.length > 1 ? (at / (values.length - 1)) * width : 0;
      return `${at === 0 ? "M" : "L"}${round(x)},${round(height - (value / highest) * height)}`;
    })
    .join("");
  return (
    <svg
      class={`spark ${second ? "two" : ""}`}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="area" d={`${line}L${width},${height}L0,${height}Z`} />
      <path d={line} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
