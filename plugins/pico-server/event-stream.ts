import type { ServerResponse } from "node:http";
import {
  closeReason,
  closes,
  encode,
  formatCursor,
  type CloseName,
} from "../../lib/pico-wire/index.ts";
import { Meter } from "./carried.ts";
import { pingEveryMs } from "./config.ts";
import type { Link } from "./connections.ts";
import { countTail } from "./counters.ts";
import { oncePerEntry } from "./faces.ts";
import { retry } from "./greeting.ts";
import { Outbox } from "./outbox.ts";
import { isJustAwake, soonMs } from "./pulse.ts";
import { Reader } from "./reader.ts";
import type { Cursor } from "./session-log.ts";
import type { Shared } from "./shared.ts";
import { answerSink } from "./sink.ts";
import { notDue } from "./wheel.ts";

export interface EventStreamOptions {
  readonly r: ServerResponse;
  readonly headers: Readonly<Record<string, string>>;
  readonly id: string;
  readonly session: string;
  readonly after: Cursor | undefined;
  readonly tokenVersion: number | undefined;
}

/** One server-sent event. Its id is the place after it: `Last-Event-ID` brings a client back to it. */
function event(data: Uint8Array | string, cursor?: Cursor): Buffer {
  const id = cursor ? `id: ${formatCursor(cursor)}\n` : "";
  return Buffer.concat([Buffer.from(`${id}data: `), Buffer.from(data), Buffer.from("\n\n")]);
}
const eventOf = oncePerEntry(({ frame, numbered, cursor }) =>
  event(frame, numbered ? cursor : undefined),
);
const start = (cursor: Cursor): Buffer =>
  Buffer.from(`retry: ${retry.min * 2}\nid: ${formatCursor(cursor)}\n\n`);
const comment = Buffer.from(":\n\n");

/** A session's messages for those whose network lets no WebSocket through. */
export function createEventStream(shared: Shared, options: EventStreamOptions): Link {
  const { r, id, session, after } = options;
  const { clock, awake, counters, config, sessions, log } = shared;
  let closing: { code: number; reason: string } | undefined;
  let messagesOut = 0;
  let writtenAt = awake.now();

  r.writeHead(200, {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    ...options.headers,
  });
  r.flushHeaders();
  const meter = new Meter(r.socket);
  const outbox = new Outbox(
    shared,
    {
      full: () => close("slow_consumer"),
      watch: () => shared.hasten(link),
      written: shared.written,
    },
    answerSink(r),
  );
  const put = (bytes: Buffer): void => outbox.send(bytes);

  const reader = new Reader(sessions, session, {
    failed: (error) => log.error({ err: error, connection: id }, "an event stream failed"),
    begin(_, { top, gap, frames }) {
      countTail(counters, after !== undefined, gap ? { gap } : {});
      put(start({ ...top, seq: top.seq - frames.length }));
      if (!gap) return;
      const frame = {
        type: "gap",
        session_id: session,
        payload: gap,
        timestamp: clock.now(),
      } as const;
      counters.framesOut.gap += 1;
      put(event(encode(frame)));
    },
    take(_, entry) {
      messagesOut += 1;
      outbox.send(eventOf(entry), entry);
    },
  });

  function close(name: CloseName, retryMs?: number): void {
    if (closing) return;
    closing = { code: closes[name].code, reason: closeReason(name, retryMs) };
    reader.stop();
    if (retryMs !== undefined) put(Buffer.from(`retry: ${Math.round(retryMs)}\n\n`));
    outbox.clear();
    const linger = clock.setTimeout(() => r.destroy(), 1_000);
    r.once("close", () => clock.clearTimeout(linger));
    r.end();
  }

  r.on("error", () => undefined);
  r.on("close", () => {
    reader.stop();
    outbox.clear();
    const ending = closing ?? { code: closes.normal.code, reason: "" };
    shared.gone(link, {
      connection: id,
      session,
      ...ending,
      initiator: closing ? "server" : "client",
    });
  });

  const link: Link = {
    id,
    tokenVersion: options.tokenVersion,
    due: notDue,
    known: undefined,
    close,
    carried: () => meter.carried(),
    isBusy: () => outbox.waiting() > 0 || shared.isBusy(session),
    traffic() {
      const lastHeardAt = clock.now() - (awake.now() - writtenAt);
      return { messagesIn: 0, messagesOut, queuedBytes: outbox.waiting(), lastHeardAt };
    },
    tick() {
      const now = awake.now();
      const everyMs = pingEveryMs(config());
      if (closing) return everyMs;
      const isStuck = outbox.stalledFor(now) >= config().write_timeout * 1_000;
      if (isStuck && !isJustAwake(awake)) close("slow_consumer");
      else if (now - writtenAt >= everyMs) {
        writtenAt = now;
        put(comment);
      }
      return outbox.isStalling() ? soonMs : writtenAt + everyMs - now;
    },
  };
  reader.start({ after, resumes: true });
  return link;
}
