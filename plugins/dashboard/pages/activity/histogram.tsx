/** Lines per minute, at most of the last 90 minutes; a chosen minute limits the list. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { timeOfDay } from "../../shared/format.ts";
import { histogramSentence, type Minute } from "./lines.ts";

const width = 10;
const height = 40;
const axisLabels = 4;

interface HistogramProps {
  readonly minutes: readonly Minute[];
  readonly chosen: number | undefined;
  readonly choose: (minute: number | undefined) => void;
}

const countLabel = ({ at, count, worst }: Minute): string => {
  const lines = count === 1 ? "1 line" : `${count} lines`;
  const note = worst === "error" ? ", with errors" : worst === "warn" ? ", with warnings" : "";
  return `${timeOfDay(at)}: ${lines}${note}`;
};

/** A slider over the minutes: arrow keys move, Enter and a click choose, Escape shows all. */
export function Histogram({ minutes, chosen, choose }: HistogramProps): JSX.Element {
  const [at, setAt] = useState<number>();
  const top = Math.max(1, ...minutes.map(({ count }) => count));
  const last = minutes.length - 1;
  const current = at ?? last;
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = { ArrowRight: current + 1, ArrowLeft: current - 1, Home: 0, End: last }[event.key];
    if (next !== undefined) setAt(Math.max(0, Math.min(last, next)));
    else if (event.key === "Enter" || event.key === " ") choose(minutes[current]!.at);
    else if (event.key === "Escape") choose(undefined);
    else return;
    event.preventDefault();
  };
  const minuteAt = (event: MouseEvent): number => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const index = Math.floor(((event.clientX - box.left) / box.width) * minutes.length);
    return Math.max(0, Math.min(last, index));
  };
  return (
    <div class="volume hide-phone">
      <svg
        class="histogram"
        viewBox={`0 0 ${minutes.length * width} ${height}`}
        preserveAspectRatio="none"
        role="slider"
        tabIndex={0}
        aria-label={histogramSentence(minutes, timeOfDay)}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={current}
        aria-valuetext={countLabel(minutes[current]!)}
        onKeyDown={onKeyDown}
        onBlur={() => setAt(undefined)}
        onClick={(event) => choose(minutes[minuteAt(event)]!.at)}
      >
        {minutes.map((minute, index) => {
          const bar = minute.count === 0 ? 0 : Math.max(2, (minute.count / top) * height);
          const isCurrent = minute.at === chosen || index === at;
          return (
            <g key={minute.at} class={isCurrent ? "current" : ""}>
              <title>{countLabel(minute)}</title>
              <rect class="room" x={index * width} width={width} height={height} />
              <rect
                class={minute.worst}
                x={index * width + 1}
                y={height - bar}
                width={width - 3}
                height={bar}
                rx="1"
              />
            </g>
          );
        })}
      </svg>
      <div class="axis" aria-hidden="true">
        {Array.from({ length: axisLabels }, (_, index) => (
          <span key={index}>
            {timeOfDay(minutes[Math.round((index * last) / (axisLabels - 1))]!.at)}
          </span>
        ))}
      </div>
    </div>
  );
}
