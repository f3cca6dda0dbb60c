import type { ServerResponse } from "node:http";
import {
  closeReason,
  closeCodes,
  encode,
  formatCursor,
  type CloseName,
} from "../../../lib/pico-wire/index.ts";
import { ByteCounter, recentlySuspended, recheckMs } from "../connection/liveness.ts";
import { pingEveryMs } from "../config.ts";
import type { Peer } from "../connection/registry.ts";
import { countResume } from "../metrics.ts";
import { memoizeLast } from "../frame-encoding.ts";
import { retryBounds } from "../session/hello.ts";
import { Outbox } from "../connection/outbox.ts";
import { SessionReader } from "../session/subscriptions.ts";
import type { Cursor } from "../session/session-log.ts";
import type { ConnectionContext } from "../connection/context.ts";
import { createResponseSink } from "../connection/sink.ts";
import { unscheduled } from "../connection/timer-wheel.ts";

export interface EventStreamOptions {
  readonly r: ServerResponse;
  readonly headers: Readonly<Record<string, string>>;
  readonly id: string;
  readonly session: string;
  readonly after: Cursor | undefined;
  readonly tokenVersion: number | undefined;
}

/** One server-sent event. Its id is the place after it: `Last-Event-ID` brings a client back to it. */
function encodeEvent(data: Uint8Array | string, cursor?: Cursor): Buffer {
  const id = cursor ? `id: ${formatCursor(cursor)}\n` : "";
  return Buffer.concat([Buffer.from(`${id}data: `), Buffer.from(data), Buffer.from("\n\n")]);
}
const encodeEventOnce = memoizeLast(({ frame, numbered, cursor }) =>
  encodeEvent(frame, numbered ? cursor : undefined),
);
const encodePreamble = (cursor: Cursor): Buffer =>
  Buffer.from(`retry: ${retryBounds.min * 2}\nid: ${formatCursor(cursor)}\n\n`);
const keepAliveComment = Buffer.from(":\n\n");

/** A session's messages for those whose network lets no WebSocket through. */
export function createEventStream(context: ConnectionContext, options: EventStreamOptions): Peer {
  const { r, id, session, after } = options;
  const { clock, awake, counters, config, sessions, log } = context;
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
  const byteCounter = new ByteCounter(r.socket);
  const outbox = new Outbox(
    context,
    {
      full: () => close("slow_consumer"),
      watch: () => context.reschedule(peer),
      written: context.written,
    },
    createResponseSink(r),
  );
  const put = (bytes: Buffer): void => outbox.send(bytes);

  const reader = new SessionReader(sessions, session, {
    failed: (error) => log.error({ err: error, connection: id }, "an event stream failed"),
    begin(_, { top, gap, frames }) {
      countResume(counters, after !== undefined, gap ? { gap } : {});
      put(encodePreamble({ ...top, seq: top.seq - frames.length }));
      if (!gap) return;
      const frame = {
        type: "gap",
        session_id: session,
        payload: gap,
        timestamp: clock.now(),
      } as const;
      counters.framesOut.gap += 1;
      put(encodeEvent(encode(frame)));
    },
    accept(_, entry) {
      messagesOut += 1;
      outbox.send(encodeEventOnce(entry), entry);
    },
  });

  function close(name: CloseName, retryMs?: number): void {
    if (closing) return;
    closing = { code: closeCodes[name].code, reason: closeReason(name, retryMs) };
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
    const ending = closing ?? { code: closeCodes.normal.code, reason: "" };
    context.gone(peer, {
      connection: id,
      session,
      ...ending,
      initiator: closing ? "server" : "client",
    });
  });

  const peer: Peer = {
    id,
    tokenVersion: options.tokenVersion,
    slot: unscheduled,
    known: undefined,
    close,
    carried: () => byteCounter.carried(),
    isBusy: () => outbox.waiting() > 0 || context.isBusy(session),
    traffic() {
      const lastHeardAt = clock.now() - (awake.now() - writtenAt);
      return { messagesIn: 0, messagesOut, queuedBytes: outbox.waiting(), lastHeardAt };
    },
    check() {
      const now = awake.now();
      const everyMs = pingEveryMs(config());
      if (closing) return everyMs;
      const isStuck = outbox.stalledFor(now) >= config().write_timeout * 1_000;
      if (isStuck && !recentlySuspended(awake)) close("slow_consumer");
      else if (now - writtenAt >= everyMs) {
        writtenAt = now;
        put(keepAliveComment);
      }
      return outbox.isStalling() ? recheckMs : writtenAt + everyMs - now;
    },
  };
  reader.start({ after, resumes: true });
  return peer;
}
