/** The share of passed checks as a ring. @module */
import type { JSX } from "preact";

interface RingProps {
  readonly passed: number;
  readonly warnings: number;
  readonly failed: number;
}

const radius = 16;
const circumference = 2 * Math.PI * radius;
/** Space between two arcs. */
const gap = 2;

/** The heading of the card has the same numbers as text. */
export function Ring({ passed, warnings, failed }: RingProps): JSX.Element {
  const total = Math.max(1, passed + warnings + failed);
  const arcs = [
    { kind: "passed", from: 0, count: passed },
    { kind: "warnings", from: passed, count: warnings },
    { kind: "failed", from: passed + warnings, count: failed },
  ].filter(({ count }) => count > 0);
  const space = arcs.length > 1 ? gap : 0;
  return (
    <svg class="ring" viewBox="0 0 40 40" aria-hidden="true">
      {arcs.map(({ kind, from, count }) => (
        <circle
          key={kind}
          class={kind}
          cx="20"
          cy="20"
          r={radius}
          stroke-dasharray={`${(count / total) * circumference - space} ${circumference}`}
          transform={`rotate(${-90 + (360 * from) / total} 20 20)`}
        />
      ))}
    </svg>
  );
}
