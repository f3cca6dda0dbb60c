import type { ServerResponse } from "node:http";
import type { Clock } from "../../../kernel/index.ts";
import { formatCursor, type ServerMessage } from "../../../lib/pico-wire/index.ts";
import type { Peer } from "../connection/registry.ts";
import { splitNumberedFrame } from "../frame-encoding.ts";
import type { Cursor, Subscriber, SessionLog } from "../session/session-log.ts";
import { unscheduled } from "../connection/timer-wheel.ts";

/** Seconds somebody who posts a message may wait for answers. */
export const maxWaitSeconds = 60;

/** Undefined: not readable. */
export function readWait(params: URLSearchParams): number | undefined {
  const [text = "0", ...more] = params.getAll("wait");
  const seconds =
    more.length === 0 && /^\d{1,5}(?:\.\d{1,3})?$/.test(text) ? Number(text) : undefined;
  return seconds === undefined ? undefined : Math.min(seconds, maxWaitSeconds);
}

export interface ReplyWaitOptions {
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

export interface CollectedReplies {
  readonly messages: readonly unknown[];
  /** Behind the last of them: `Last-Event-ID` goes on from there. */
  readonly cursor?: string;
}

/** The time is up, or nobody waits any more: the connection was closed, by either side. */
type WaitEnd = "late" | "ended";

/** Hears the session's messages from now on, for somebody who waits for the answer. */
export interface PendingReply {
  readonly link: Peer;
  /** What has come, once that is a whole answer, thoughts and calls of tools aside, or the time is up. */
  answers(): Promise<CollectedReplies>;
  readonly over: Promise<WaitEnd>;
  stop(): void;
}

type ReplyFrame =
  | { readonly type: "message.create" | "message.update"; readonly payload: ServerMessage }
  | { readonly type: "message.delete"; readonly payload: Pick<ServerMessage, "message_id"> };

/** Whether what was said is an answer to the request, and none of it still grows. */
function createReplyCollector(request: string): {
  hear(frame: ReplyFrame): void;
  isWhole(): boolean;
} {
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

export function waitForReply(options: ReplyWaitOptions): PendingReply {
  const { r, id, request, session, seconds, tokenVersion, sessions, clock, isBusy } = options;
  const heard: { readonly frame: ReplyFrame; readonly cursor: Cursor }[] = [];
  const answer = createReplyCollector(request);
  const startedAt = clock.now();
  let done = (): void => undefined;
  let finish: (how: WaitEnd) => void = () => undefined;
  const over = new Promise<WaitEnd>((resolve) => void (finish = resolve));
  const leave = (): void => finish("ended");
  const timer = clock.setTimeout(() => finish("late"), seconds * 1_000);
  const subscriber: Subscriber = {
    onEntry({ frame, numbered: isNumbered, cursor }) {
      if (!isNumbered) return;
      const [head, tail] = splitNumberedFrame(frame, cursor);
      const replyFrame = JSON.parse(Buffer.from(head).toString() + tail) as ReplyFrame;
      heard.push({ frame: replyFrame, cursor });
      answer.hear(replyFrame);
      if (answer.isWhole()) done();
    },
  };
  sessions.subscribe(session, subscriber, { resumes: true });
  r.once("close", leave);

  function take(): CollectedReplies {
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
      slot: unscheduled,
      check: () => maxWaitSeconds * 1_000,
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
      sessions.unsubscribe(session, subscriber);
    },
  };
}
