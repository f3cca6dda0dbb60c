import type { ServerResponse } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import { formatCursor } from "../pico-wire/index.ts";
import type { Link } from "./connections.ts";
import { numbered } from "./faces.ts";
import type { Cursor, Heard, Hearer, SessionLog } from "./session-log.ts";
import { notDue } from "./wheel.ts";

/** Seconds somebody who posts a message may wait for answers. */
export const mostWaitSeconds = 60;

/** Undefined: not readable. */
export function readWait(params: URLSearchParams): number | undefined {
  const text = params.get("wait") ?? "0";
  const seconds = /^\d{1,5}(?:\.\d{1,3})?$/.test(text) ? Number(text) : undefined;
  return seconds === undefined ? undefined : Math.min(seconds, mostWaitSeconds);
}

export interface WaitOptions {
  readonly r: ServerResponse;
  readonly id: string;
  readonly session: string;
  readonly seconds: number;
  readonly tokenVersion: number | undefined;
  readonly sessions: SessionLog;
  readonly clock: Clock;
  readonly isBusy: (session: string) => boolean;
}

export interface Answers {
  readonly messages: readonly unknown[];
  /** Behind the last of them: `Last-Event-ID` goes on from there. */
  readonly cursor?: string;
}

/** Hears the session's messages from now on, for somebody who waits for the first of them. */
export interface Waiting {
  readonly link: Link;
  /** The messages so far, when there is one or the time is up. */
  answers(): Promise<Answers>;
  /** Nobody waits any more: the connection was closed, by either side. */
  readonly ended: Promise<undefined>;
  stop(): void;
}

export function waitForAnswers(options: WaitOptions): Waiting {
  const { r, id, session, seconds, tokenVersion, sessions, clock, isBusy } = options;
  const heard: Heard[] = [];
  const startedAt = clock.now();
  let done = (): void => undefined;
  const enough = new Promise<void>((resolve) => void (done = resolve));
  let end = (): void => undefined;
  const ended = new Promise<undefined>((resolve) => void (end = () => resolve(undefined)));
  const leave = (): void => {
    end();
    done();
  };
  const timer = clock.setTimeout(done, seconds * 1_000);
  const hearer: Hearer = {
    hear(entry) {
      if (!entry.numbered) return;
      heard.push(entry);
      done();
    },
  };
  sessions.subscribe(session, hearer, { resumes: true });
  r.once("close", leave);

  function take(): Answers {
    const texts = heard.map(({ frame, cursor }) => {
      const [head, tail] = numbered(frame, cursor);
      return Buffer.from(head).toString() + tail;
    });
    const last: Cursor | undefined = heard.at(-1)?.cursor;
    if (!last || r.destroyed) return { messages: [] };
    sessions.note(session, { epoch: last.epoch, after: heard[0]!.cursor.seq - 1, upTo: last.seq }, "written");
    return { messages: texts.map((text) => JSON.parse(text) as unknown), cursor: formatCursor(last) };
  }

  return {
    ended,
    link: {
      id,
      tokenVersion,
      close: leave,
      due: notDue,
      tick: () => mostWaitSeconds * 1_000,
      isBusy: () => isBusy(session),
      carried: () => ({ in: 0, out: 0 }),
      traffic: () => ({ messagesIn: 1, messagesOut: heard.length, queuedBytes: 0, lastHeardAt: startedAt }),
    },
    async answers() {
      await enough;
      return take();
    },
    stop() {
      clock.clearTimeout(timer);
      r.off("close", leave);
      sessions.unsubscribe(session, hearer);
    },
  };
}
