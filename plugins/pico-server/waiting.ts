import type { ServerResponse } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import { formatCursor, type ServerMessage } from "../../lib/pico-wire/index.ts";
import type { Link } from "./connections.ts";
import { numbered } from "./faces.ts";
import type { Cursor, Hearer, SessionLog } from "./session-log.ts";
import { notDue } from "./wheel.ts";

/** Seconds somebody who posts a message may wait for answers. */
export const mostWaitSeconds = 60;

/** Undefined: not readable. */
export function readWait(params: URLSearchParams): number | undefined {
  const [text = "0", ...more] = params.getAll("wait");
  const seconds =
    more.length === 0 && /^\d{1,5}(?:\.\d{1,3})?$/.test(text) ? Number(text) : undefined;
  return seconds === undefined ? undefined : Math.min(seconds, mostWaitSeconds);
}

export interface WaitOptions {
  readonly r: ServerResponse;
  readonly id: string;
  /** Of the posted message. */
  readonly request: string;
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

/** The time is up, or nobody waits any more: the connection was closed, by either side. */
type Over = "late" | "ended";

/** Hears the session's messages from now on, for somebody who waits for the answer. */
export interface Waiting {
  readonly link: Link;
  /** What has come, once that is a whole answer, thoughts and calls of tools aside, or the time is up. */
  answers(): Promise<Answers>;
  readonly over: Promise<Over>;
  stop(): void;
}

type Said =
  | { readonly type: "message.create" | "message.update"; readonly payload: ServerMessage }
  | { readonly type: "message.delete"; readonly payload: Pick<ServerMessage, "message_id"> };

/** Whether what was said is an answer to the request, and none of it still grows. */
function createAnswer(request: string): { hear(frame: Said): void; isWhole(): boolean } {
  const growing = new Set<string>();
  let isThere = false;
  return {
    hear({ type, payload }) {
      if (type === "message.create" && !payload.final) return void growing.add(payload.message_id);
      growing.delete(payload.message_id);
      if (type === "message.delete" || payload.kind !== undefined) return;
      isThere ||= payload.request_id === undefined || payload.request_id === request;
    },
    isWhole: () => isThere && growing.size === 0,
  };
}

export function waitForAnswers(options: WaitOptions): Waiting {
  const { r, id, request, session, seconds, tokenVersion, sessions, clock, isBusy } = options;
  const heard: { readonly frame: Said; readonly cursor: Cursor }[] = [];
  const answer = createAnswer(request);
  const startedAt = clock.now();
  let done = (): void => undefined;
  let finish: (how: Over) => void = () => undefined;
  const over = new Promise<Over>((resolve) => void (finish = resolve));
  const leave = (): void => finish("ended");
  const timer = clock.setTimeout(() => finish("late"), seconds * 1_000);
  const hearer: Hearer = {
    hear({ frame, numbered: isNumbered, cursor }) {
      if (!isNumbered) return;
      const [head, tail] = numbered(frame, cursor);
      const said = JSON.parse(Buffer.from(head).toString() + tail) as Said;
      heard.push({ frame: said, cursor });
      answer.hear(said);
      if (answer.isWhole()) done();
    },
  };
  sessions.subscribe(session, hearer, { resumes: true });
  r.once("close", leave);

  function take(): Answers {
    const last = heard.at(-1)?.cursor;
    if (!last || r.destroyed) return { messages: [] };
    sessions.note(
      session,
      { epoch: last.epoch, after: heard[0]!.cursor.seq - 1, upTo: last.seq },
      "answered",
    );
    return { messages: heard.map(({ frame }) => frame), cursor: formatCursor(last) };
  }

  return {
    over,
    link: {
      id,
      tokenVersion,
      close: leave,
      due: notDue,
      tick: () => mostWaitSeconds * 1_000,
      isBusy: () => isBusy(session),
      carried: () => ({ in: 0, out: 0 }),
      traffic: () => ({
        messagesIn: 1,
        messagesOut: heard.length,
        queuedBytes: 0,
        lastHeardAt: startedAt,
      }),
    },
    async answers() {
      const whole = new Promise<void>((resolve) => void (done = resolve));
      if (!answer.isWhole()) await Promise.race([whole, over]);
      return take();
    },
    stop() {
      clock.clearTimeout(timer);
      r.off("close", leave);
      sessions.unsubscribe(session, hearer);
    },
  };
}
