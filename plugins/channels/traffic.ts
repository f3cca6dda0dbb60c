// Counts the messages of all channels, and keeps the times of the newest answers and requests.
import type { Clock, Release } from "../../kernel/index.ts";
import { BoundedMap, keyOf } from "../../lib/util.ts";
import type {
  Address,
  AnswerEnd,
  Channels,
  InboundMessage,
  OutboundMessage,
  RequestTimes,
  RequestTimesPart,
} from "./contract.ts";

interface AnswerTime {
  readonly at: number;
  readonly ms: number;
}

export interface TrafficCounts {
  received: number;
  sent: number;
  readonly answers: AnswerTime[];
  /** Undefined while no plugin records times, so that messages cost nothing. */
  recorder: TimesRecorder | undefined;
}

const maxAnswers = 1_000;

export const createTrafficCounts = (): TrafficCounts => ({
  received: 0,
  sent: 0,
  answers: [],
  recorder: undefined,
});

/** Keeps the newest 1,000 times. */
export function addAnswer({ answers }: TrafficCounts, answer: AnswerTime): void {
  answers.push(answer);
  if (answers.length > maxAnswers) answers.shift();
}

const maxRequests = 200;
const maxParts = 100;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The times of one message. */
export class Recorded implements Address {
  readonly channel: string;
  readonly session: string;
  readonly id: string;
  readonly protocol: string | undefined;
  /** Unix milliseconds. */
  readonly at: number;
  private readonly clock: Clock;
  /** Milliseconds of the monotonic clock. */
  private readonly startedAt: number;
  private acceptedMs: number | undefined = undefined;
  private firstTextMs: number | undefined = undefined;
  private endedMs: number | undefined = undefined;
  private end: AnswerEnd | undefined = undefined;
  private parts: Mutable<RequestTimesPart>[] | undefined = undefined;
  private left = 0;

  constructor({ channel, session, id, protocol }: InboundMessage, clock: Clock) {
    this.channel = channel;
    this.session = session;
    this.id = id;
    this.protocol = protocol;
    this.clock = clock;
    this.at = clock.now();
    this.startedAt = clock.monotonic();
  }

  accepted(): void {
    this.acceptedMs ??= this.since();
  }

  /** A message of the answer was sent, or has grown. */
  sent(id: string, message: OutboundMessage & { readonly final?: boolean }): void {
    const { kind = "text", final = true } = message;
    const ms = this.since();
    if (kind === "text" && message.content !== "") this.firstTextMs ??= ms;
    const parts = (this.parts ??= []);
    const known = parts.findLast((part) => part.id === id);
    if (known) {
      known.updates += 1;
      known.toMs = ms;
      known.final ||= final;
    } else if (parts.length < maxParts)
      parts.push({ id, kind, fromMs: ms, toMs: ms, updates: 0, final });
    else this.left += 1;
  }

  ended(end: AnswerEnd): void {
    this.endedMs = this.since();
    this.end = end;
  }

  view(): RequestTimes {
    const { channel, session, id, at, parts = [], left, end } = this;
    const { protocol, acceptedMs, firstTextMs, endedMs } = this;
    const { outcome, code, usage, model } = end ?? {};
    return {
      ...{ channel, session, id, at },
      ...(protocol !== undefined && { protocol }),
      ...(acceptedMs !== undefined && { acceptedMs }),
      ...(firstTextMs !== undefined && { firstTextMs }),
      ...(endedMs !== undefined && { endedMs }),
      ...(outcome !== undefined && { outcome }),
      ...(code !== undefined && { code }),
      ...(usage !== undefined && { usage }),
      ...(model !== undefined && { model }),
      parts: parts.map((part) => ({ ...part })),
      left,
    };
  }

  private since(): number {
    return Math.round((this.clock.monotonic() - this.startedAt) * 10) / 10;
  }
}

/** Records the times of the newest 200 messages, and of at most 100 parts of each answer. */
class TimesRecorder {
  /** Plugins that have asked for times. */
  users = 1;
  private readonly clock: Clock;
  private readonly recorded = new BoundedMap<string, Recorded>(maxRequests);

  constructor(clock: Clock) {
    this.clock = clock;
  }

  received(message: InboundMessage): Recorded {
    const recorded = new Recorded(message, this.clock);
    // A repeated message is the newest.
    this.recorded.renew(keyOf(message.channel, message.session, message.id), recorded);
    return recorded;
  }

  /** A message about a request was sent, or has grown. */
  sent(to: Address, id: string, message: OutboundMessage & { readonly final?: boolean }): void {
    const { inReplyTo, placeholder = false } = message;
    if (inReplyTo === undefined || placeholder) return;
    this.recorded.get(keyOf(to.channel, to.session, inReplyTo))?.sent(id, message);
  }

  /** @returns The times, oldest first. */
  list(): readonly RequestTimes[] {
    return [...this.recorded.values()].map((recorded) => recorded.view());
  }
}

/** Records times until the returned function has run as often as this one. */
function recordTimes(counts: TrafficCounts, clock: Clock): Release {
  if (counts.recorder) counts.recorder.users += 1;
  const recorder = (counts.recorder ??= new TimesRecorder(clock));
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    recorder.users -= 1;
    if (recorder.users === 0) counts.recorder = undefined;
  };
}

/** Creates the calls of the service about traffic. */
export const trafficCalls = (
  counts: TrafficCounts,
  clock: Clock,
): Pick<Channels, "traffic" | "recordTimes" | "times"> => ({
  traffic: () => counts,
  recordTimes: () => recordTimes(counts, clock),
  times: () => counts.recorder?.list() ?? [],
});
