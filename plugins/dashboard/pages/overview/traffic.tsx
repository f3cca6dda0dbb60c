/** Messages per minute, as a chart and as a table. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { FiguresView } from "../../shared/figure-views.ts";
import { Table } from "../parts/table.tsx";
import { Chart } from "../parts/chart.tsx";
import { Segment } from "../parts/segment.tsx";
import { formatCount, timeOfDay } from "../../shared/format.ts";

type Range = "hour" | "day";

const minuteMs = 60_000;
const pointMinutes: Readonly<Record<Range, number>> = { hour: 1, day: 15 };
const labels = ["From clients", "From the application"] as const;

const utcTime = (at: number): string => new Date(at).toISOString().slice(11, 16);

/** The server does not know the time zone of the browser. */
function useTimeFormat(): (at: number) => string {
  const [isLocal, setLocal] = useState(false);
  useEffect(() => setLocal(true), []);
  return isLocal ? timeOfDay : utcTime;
}

const average = (values: readonly number[]): string => {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return String(Math.round(mean * 10) / 10);
};

/** @returns The values since counting began, and at least the two that a line needs. */
function sinceStart(
  values: readonly number[],
  { at, since }: FiguresView,
  minutes: number,
): readonly number[] {
  const count = Math.ceil(((at - since) / minuteMs + 1) / minutes);
  return values.slice(-Math.max(2, count));
}

export function Traffic({ figures }: { readonly figures: FiguresView }): JSX.Element {
  const [range, setRange] = useState<Range>("hour");
  const format = useTimeFormat();
  const minutes = pointMinutes[range];
  const received = sinceStart(figures[range].in, figures, minutes);
  const sent = sinceStart(figures[range].out, figures, minutes);
  const perMinute = (values: readonly number[]): number[] =>
    values.map((value) => Math.round((value / minutes) * 10) / 10);
  const series = [perMinute(received), perMinute(sent)] as const;
  const timeOf = (at: number): string =>
    format(figures.at - (received.length - 1 - at) * minutes * minuteMs);
  const isEmpty = [...received, ...sent].every((value) => value === 0);
  return (
    <section class="card" aria-labelledby="traffic">
      <header class="bare wrap">
        <h2 class="grow" id="traffic">
          Messages per minute
        </h2>
        <span class="key">
          <i />
          {labels[0]}
        </span>
        <span class="key two">
          <i />
          {labels[1]}
        </span>
        <span class="scripted">
          <Segment
            label="Period"
            value={range}
            onChange={setRange}
            options={[
              { value: "hour", name: "1 h" },
              { value: "day", name: "24 h" },
            ]}
          />
        </span>
      </header>
      <Chart
        name={
          `Messages per minute in the last ${range}. On average ${average(series[0])} from ` +
          `clients and ${average(series[1])} from the application.`
        }
        labels={labels}
        series={series}
        timeOf={timeOf}
      />
      {isEmpty ? (
        <p class="chart-note">No messages in this {range}.</p>
      ) : (
        <TrafficTable received={received} sent={sent} timeOf={timeOf} />
      )}
    </section>
  );
}

interface TableProps {
  readonly received: readonly number[];
  readonly sent: readonly number[];
  readonly timeOf: (at: number) => string;
}

/** The points with messages, newest first. */
function TrafficTable({ received, sent, timeOf }: TableProps): JSX.Element {
  const points = received
    .map((value, at) => ({ time: timeOf(at), received: value, sent: sent[at]! }))
    .filter((point) => point.received + point.sent > 0)
    .reverse();
  return (
    <details class="chart-note">
      <summary>Show as table</summary>
      <Table label="Messages by time" columns={[["Time"], [labels[0], "end"], [labels[1], "end"]]}>
        {points.map((point) => (
          <tr key={point.time}>
            <td>{point.time}</td>
            <td class="end num">{formatCount(point.received)}</td>
            <td class="end num">{formatCount(point.sent)}</td>
          </tr>
        ))}
      </Table>
    </details>
  );
}
