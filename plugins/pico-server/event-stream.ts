import type { ServerResponse } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import { closeReason, closes, encode, formatCursor, type CloseName } from "../pico-wire/index.ts";
import { meter } from "./carried.ts";
import { pingEveryMs, type PicoServerConfig } from "./config.ts";
import type { Link } from "./connections.ts";
import { countTail, type Counters } from "./counters.ts";
import type { PicoServerEvents } from "./events.ts";
import { oncePerEntry } from "./faces.ts";
import { retry } from "./greeting.ts";
import { createOutbox } from "./outbox.ts";
import { readSession } from "./reader.ts";
import type { Cursor, SessionLog } from "./session-log.ts";
import { answerSink } from "./sink.ts";

type Disconnected = PicoServerEvents["pico-server:disconnected"];

export interface EventStreamOptions {
  readonly r: ServerResponse;
  readonly headers: Readonly<Record<string, string>>;
  readonly id: string;
  readonly session: string;
  readonly after: Cursor | undefined;
  readonly tokenVersion: number | undefined;
  readonly sessions: SessionLog;
  readonly counters: Counters;
  readonly clock: Clock;
  readonly config: () => PicoServerConfig;
  readonly isBusy: (session: string) => boolean;
  readonly failed: (error: unknown) => void;
  readonly gone: (link: Link, fact: Disconnected) => void;
}

/** One server-sent event. Its id is the place after it: `Last-Event-ID` brings a client back to it. */
function event(data: Uint8Array | string, cursor?: Cursor): Buffer {
  const id = cursor ? `id: ${formatCursor(cursor)}\n` : "";
  return Buffer.concat([Buffer.from(`${id}data: `), Buffer.from(data), Buffer.from("\n\n")]);
}
const eventOf = oncePerEntry(({ frame, numbered, cursor }) => event(frame, numbered ? cursor : undefined));
const start = (cursor: Cursor): Buffer => Buffer.from(`retry: ${retry.min * 2}\nid: ${formatCursor(cursor)}\n\n`);
const comment = Buffer.from(":\n\n");

/** A session's messages for those whose network lets no WebSocket through. */
export function createEventStream(options: EventStreamOptions): Link {
  const { r, id, session, clock, counters, config, after } = options;
  let closing: { code: number; reason: string } | undefined;
  let messagesOut = 0;
  let writtenAt = clock.now();

  r.writeHead(200, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    ...options.headers,
  });
  r.flushHeaders();
  const carried = meter(r.socket);
  const outbox = createOutbox({
    sink: answerSink(r),
    counters,
    now: () => clock.now(),
    full: () => close("slow_consumer"),
    written: ({ cursor: { epoch, seq } }) =>
      options.sessions.note(session, { epoch, after: seq - 1, upTo: seq }, "written"),
  });
  const put = (bytes: Uint8Array): void => outbox.send(bytes);

  const release = readSession({
    log: options.sessions, session, after, resumes: true, failed: options.failed,
    begin(tail) {
      const { top, gap, frames } = tail;
      countTail(counters, after !== undefined, tail);
      put(start({ ...top, seq: top.seq - frames.length }));
      if (!gap) return;
      const frame = { type: "gap", session_id: session, payload: gap, timestamp: clock.now() } as const;
      counters.framesOut.gap += 1;
      put(event(encode(frame)));
    },
    take(entry) {
      messagesOut += 1;
      outbox.send(eventOf(entry), entry);
    },
  });

  function close(name: CloseName, retryMs?: number): void {
    if (closing) return;
    closing = { code: closes[name].code, reason: closeReason(name, retryMs) };
    release();
    if (retryMs !== undefined) put(Buffer.from(`retry: ${Math.round(retryMs)}\n\n`));
    outbox.clear();
    const linger = clock.setTimeout(() => r.destroy(), 1_000);
    r.once("close", () => clock.clearTimeout(linger));
    r.end();
  }

  r.on("error", () => undefined);
  r.on("close", () => {
    release();
    outbox.clear();
    const ending = closing ?? { code: closes.normal.code, reason: "" };
    options.gone(link, { connection: id, session, ...ending, initiator: closing ? "server" : "client" });
  });

  const link: Link = {
    id,
    tokenVersion: options.tokenVersion,
    close,
    carried,
    isBusy: () => outbox.waiting() > 0 || options.isBusy(session),
    traffic: () => ({ messagesIn: 0, messagesOut, queuedBytes: outbox.waiting(), lastHeardAt: writtenAt }),
    tick(lateMs, isSpared) {
      const now = clock.now();
      if (closing) return;
      const isStuck = outbox.stalledFor(now, lateMs) >= config().write_timeout * 1_000;
      if (isStuck && !isSpared) return close("slow_consumer");
      writtenAt = Math.min(writtenAt, now); // the clock may have been set back
      if (now - writtenAt < pingEveryMs(config())) return;
      writtenAt = now;
      put(comment);
    },
  };
  return link;
}
