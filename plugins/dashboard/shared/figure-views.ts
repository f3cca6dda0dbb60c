/** Response of `GET /api/figures`. @module */

/** Figures of the latest day, in memory. All lists are oldest first and end with the present. */
export interface FiguresView {
  /** Unix milliseconds at which the current minute began. */
  readonly at: number;
  /** Unix milliseconds of the minute in which counting began. Earlier values are 0. */
  readonly since: number;
  /** One value for each of 60 minutes. */
  readonly hour: {
    /** Messages from clients. */
    readonly in: readonly number[];
    /** Messages of the application, however many updates they had. */
    readonly out: readonly number[];
    /** Rejected connections and requests. */
    readonly rejected: readonly number[];
    /** Most open connections. */
    readonly connections: readonly number[];
    /** Median answer time in milliseconds; 0 if none ended in the minute. */
    readonly answerMs: readonly number[];
  };
  /** Messages in each of 96 quarters of an hour. */
  readonly day: { readonly in: readonly number[]; readonly out: readonly number[] };
  /** Most open connections of the day. */
  readonly mostConnections: number;
  /** Answers that ended in the latest hour. */
  readonly answers: {
    readonly count: number;
    /** Half of them took at most this long. */
    readonly medianMs: number;
    /** 95 % of them took at most this long. */
    readonly p95Ms: number;
  };
}
