/** A chart as SVG, drawn the same by the server and the browser. @module */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatCount } from "../../shared/format.ts";
import { lineThrough } from "./spark.tsx";

interface ChartProps {
  /** Content of the chart with its averages, for assistive technology. */
  readonly name: string;
  readonly labels: readonly [string, string];
  readonly series: readonly [readonly number[], readonly number[]];
  /** @returns The time of a point. */
  readonly timeOf: (at: number) => string;
}

const height = 200;
const left = 32;
const right = 4;
const top = 10;
const bottom = 22;
/** Width until the browser has measured the chart. */
const firstWidth = 720;
const narrowWidth = 420;

/** @returns The end of the axis: the next round number, whose half is a whole number. */
function axisEnd(highest: number): number {
  const unit = 10 ** Math.floor(Math.log10(Math.max(highest, 4)));
  const steps = [1, 2, 4, 6, 8, 10].map((step) => step * unit);
  return steps.find((step) => step >= Math.max(highest, 2)) ?? highest;
}

/** Two lines over time. The pointer and the arrow keys show the values of one point. */
export function Chart({ name, labels, series, timeOf }: ChartProps): JSX.Element {
  const { box, width } = useWidth();
  const [at, setAt] = useState<number>();
  const count = series[0].length;
  const end = axisEnd(Math.max(...series[0], ...series[1]));
  const inner = width - left - right;
  const x = (index: number): number => left + (index / (count - 1)) * inner;
  const y = (value: number): number => top + (1 - value / end) * (height - top - bottom);
  const line = (values: readonly number[]): string =>
    lineThrough(values.map((value, index) => [x(index), y(value)]));
  const nearest = (event: PointerEvent): void => {
    const offset = event.clientX - box.current!.getBoundingClientRect().left - left;
    setAt(Math.max(0, Math.min(count - 1, Math.round((offset / inner) * (count - 1)))));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const from = at ?? count - 1;
    const next = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: count - 1 }[event.key];
    if (event.key === "Escape") return setAt(undefined);
    if (next === undefined) return;
    event.preventDefault();
    setAt(Math.max(0, Math.min(count - 1, next)));
  };
  const times = width < narrowWidth ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  return (
    <div class="chart" ref={box} dir="ltr">
      <svg
        role="img"
        tabIndex={0}
        aria-label={name}
        viewBox={`0 0 ${width} ${height}`}
        onKeyDown={onKeyDown}
        onBlur={() => setAt(undefined)}
        onPointerMove={nearest}
        onPointerLeave={() => setAt(undefined)}
      >
        {[0, end / 2, end].map((value) => (
          <g key={value}>
            <line class="grid" x1={left} x2={width - right} y1={y(value)} y2={y(value)} />
            <text x={left - 8} y={y(value) + 4} text-anchor="end">
              {formatCount(value)}
            </text>
          </g>
        ))}
        {times.map((part) => (
          <text key={part} x={x(part * (count - 1))} y={height - 4} text-anchor={anchorOf(part)}>
            {timeOf(Math.round(part * (count - 1)))}
          </text>
        ))}
        <path class="a1" d={`${line(series[0])}L${x(count - 1)},${y(0)}L${left},${y(0)}Z`} />
        <path class="l2" d={line(series[1])} />
        <path class="l1" d={line(series[0])} />
        {at !== undefined && (
          <g>
            <line class="rule" x1={x(at)} x2={x(at)} y1={top} y2={height - bottom} />
            <circle class="p2" cx={x(at)} cy={y(series[1][at]!)} r="4.5" />
            <circle class="p1" cx={x(at)} cy={y(series[0][at]!)} r="4.5" />
          </g>
        )}
      </svg>
      <div role="status">
        {at !== undefined && (
          <Values
            time={timeOf(at)}
            labels={labels}
            values={[series[0][at]!, series[1][at]!]}
            left={x(at) > width / 2 ? x(at) - 190 : x(at) + 20}
          />
        )}
      </div>
    </div>
  );
}

const anchorOf = (part: number): "start" | "middle" | "end" =>
  part === 0 ? "start" : part === 1 ? "end" : "middle";

/** Measures the width, so that text keeps its size. */
function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(firstWidth);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry && entry.contentRect.width > 0) setWidth(entry.contentRect.width);
    });
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return { box, width };
}

interface ValuesProps {
  readonly time: string;
  readonly labels: readonly [string, string];
  readonly values: readonly [number, number];
  readonly left: number;
}

function Values({ time, labels, values, left: offset }: ValuesProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    box.current!.style.left = `${offset}px`; // the policy allows styles of scripts
  }, [offset]);
  return (
    <div class="tooltip" ref={box}>
      <div class="muted">{time}</div>
      {labels.map((label, at) => (
        <div key={label} class={at === 1 ? "two" : ""}>
          <i />
          {label}
          <b>{formatCount(values[at]!)}</b>
        </div>
      ))}
    </div>
  );
}
