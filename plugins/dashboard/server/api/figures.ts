/** Figures of each minute of a day: messages, answers, connections and rejections. @module */
import type { FastifyInstance } from "fastify";
import type { Clock, Release } from "../../../../kernel/index.ts";
import type { ChannelTraffic } from "../../../channels/index.ts";
import type { DashboardShape } from "../service.ts";
import type { ActivityLog } from "./activity.ts";
import type { FiguresView } from "../../shared/figure-views.ts";

const minuteMs = 60_000;
const dayMinutes = 24 * 60;
const hourMinutes = 60;
/** Minutes of one point of the day. */
const pointMinutes = 15;

/** Counts since the start, and what is open now. */
interface Totals extends ChannelTraffic {
  /** Rejected handshakes of clients. */
  readonly rejected: number;
  /** Connections that are open now. */
  readonly connections: number;
}

/** @returns The counters of the channels; zero where none is loaded. */
export function totalsOf(
  { channels, picoServer }: Partial<Pick<DashboardShape["uses"], "channels" | "picoServer">>,
  { testRejections }: Pick<ActivityLog, "testRejections">,
): Totals {
  const { accepted: _, ...rejected } = picoServer?.metrics().handshakes ?? {};
  return {
    ...(channels?.traffic() ?? { received: 0, sent: 0, answers: [] }),
    rejected: Object.values(rejected).reduce((sum, count) => sum + count, 0) - testRejections(),
    connections: picoServer?.status().connections ?? 0,
  };
}

interface FiguresOptions {
  readonly clock: Clock;
  readonly after: (ms: number, run: () => void) => Release;
  readonly totals: () => Totals;
}
type AnswerTime = ChannelTraffic["answers"][number];

/** Counts of a day by minute, in a ring. */
class MinuteSeries {
  private readonly counts = new Uint32Array(dayMinutes);

  add(minute: number, count: number): void {
    this.counts[minute % dayMinutes]! += count;
  }

  raise(minute: number, count: number): void {
    const at = minute % dayMinutes;
    this.counts[at] = Math.max(this.counts[at]!, count);
  }

  clear(minute: number): void {
    this.counts[minute % dayMinutes] = 0;
  }

  /** @returns The values that end with a minute, oldest first. */
  until(minute: number, length: number): number[] {
    const first = minute - length + 1;
    return Array.from({ length }, (_, at) => this.counts[(first + at) % dayMinutes]!);
  }

  highest(): number {
    return Math.max(...this.counts);
  }
}

/** Reads the counters at the end of each minute and before each view. */
export class Figures {
  private readonly received = new MinuteSeries();
  private readonly sent = new MinuteSeries();
  private readonly rejected = new MinuteSeries();
  private readonly connections = new MinuteSeries();
  private readonly options: FiguresOptions;
  private last: Totals;
  private readonly first: number;
  /** The newest minute of the series, in minutes since 1970. */
  private newest: number;

  constructor(options: FiguresOptions) {
    this.options = options;
    this.newest = Math.floor(options.clock.now() / minuteMs);
    this.first = this.newest;
    this.last = options.totals();
    this.wait();
  }

  /** True if an answer has ended since the start. */
  hasAnswered(): boolean {
    return this.options.totals().answers.length > 0;
  }

  /** Messages in both directions of the latest minutes, the current one last. */
  perMinute(minutes: number): readonly number[] {
    this.collect();
    const sent = this.sent.until(this.newest, minutes);
    return this.received.until(this.newest, minutes).map((count, at) => count + sent[at]!);
  }

  view(): FiguresView {
    this.collect();
    const hour = (series: MinuteSeries): number[] => series.until(this.newest, hourMinutes);
    const day = (series: MinuteSeries): number[] =>
      sumsOf(series.until(this.newest, dayMinutes), pointMinutes);
    const answers = this.last.answers.filter(
      ({ at }) => Math.floor(at / minuteMs) > this.newest - hourMinutes,
    );
    const times = sortedTimes(answers);
    return {
      at: this.newest * minuteMs,
      since: this.first * minuteMs,
      hour: {
        in: hour(this.received),
        out: hour(this.sent),
        rejected: hour(this.rejected),
        connections: hour(this.connections),
        answerMs: medians(answers, this.newest),
      },
      day: { in: day(this.received), out: day(this.sent) },
      mostConnections: this.connections.highest(),
      answers: {
        count: times.length,
        medianMs: quantile(times, 0.5),
        p95Ms: quantile(times, 0.95),
      },
    };
  }

  private wait(): void {
    const { clock, after } = this.options;
    after(minuteMs - (clock.now() % minuteMs), () => {
      this.collect();
      this.wait();
    });
  }

  /** Adds the counts since the last call to the newest minute, then begins the current minute. */
  private collect(): void {
    const now = this.options.totals();
    this.received.add(this.newest, now.received - this.last.received);
    this.sent.add(this.newest, now.sent - this.last.sent);
    this.rejected.add(this.newest, now.rejected - this.last.rejected);
    this.connections.raise(this.newest, now.connections);
    this.last = { ...now };
    const minute = Math.floor(this.options.clock.now() / minuteMs);
    for (let at = Math.max(this.newest + 1, minute - dayMinutes + 1); at <= minute; at++) {
      for (const series of [this.received, this.sent, this.rejected, this.connections])
        series.clear(at);
      this.connections.raise(at, now.connections);
    }
    this.newest = Math.max(this.newest, minute);
  }
}

function sumsOf(values: readonly number[], size: number): number[] {
  return Array.from({ length: values.length / size }, (_, at) =>
    values.slice(at * size, (at + 1) * size).reduce((sum, value) => sum + value, 0),
  );
}

const sortedTimes = (answers: readonly AnswerTime[]): number[] =>
  answers.map(({ ms }) => ms).sort((a, b) => a - b);

/** @returns The median of each minute of the latest hour; 0 for minutes without an answer. */
function medians(answers: readonly AnswerTime[], newest: number): number[] {
  return Array.from({ length: hourMinutes }, (_, index) => {
    const minute = newest - hourMinutes + 1 + index;
    const own = answers.filter(({ at }) => Math.floor(at / minuteMs) === minute);
    return quantile(sortedTimes(own), 0.5);
  });
}

/** @returns 0 for an empty list. */
function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

/** Adds `GET /api/figures`. */
export function figuresRoute(app: FastifyInstance, figures: Figures): void {
  app.get("/api/figures", (_request, reply) => reply.send(figures.view()));
}
