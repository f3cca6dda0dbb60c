import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock, Log, Release } from "../../kernel/index.ts";
import { closeReason, closes, encode, type CloseName, type ServerFrame } from "../pico-wire/index.ts";
import { meter } from "./carried.ts";
import { pingEveryMs, type PicoServerConfig } from "./config.ts";
import type { Link } from "./connections.ts";
import { countTail, type Counters } from "./counters.ts";
import type { PicoServerEvents } from "./events.ts";
import type { Admission } from "./gate.ts";
import { greeting } from "./greeting.ts";
import type { Extension } from "./handshake.ts";
import { createInbound, type InboundOptions } from "./inbound.ts";
import { createOutbox } from "./outbox.ts";
import { createPace } from "./pace.ts";
import type { Heard, SessionLog } from "./session-log.ts";
import { framed, webSocketSink } from "./sink.ts";
import type { NamedSocket } from "./socket.ts";
import { createSubscriptions, type Resuming } from "./subscriptions.ts";

type Disconnected = PicoServerEvents["pico-server:disconnected"];

export interface ConnectionOptions {
  readonly ws: NamedSocket;
  readonly socket: Duplex;
  readonly id: string;
  readonly session: string;
  readonly admission: Admission;
  /** Undefined: a plain client. */
  readonly extension: Extension | undefined;
  readonly sessions: SessionLog;
  readonly counters: Counters;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  readonly newId: () => string;
  readonly budget: InboundOptions["budget"];
  readonly deliver: InboundOptions["deliver"];
  /** The application has a message of this session. */
  readonly isBusy: (session: string) => boolean;
  /** The socket is gone. */
  readonly gone: (connection: Link, fact: Disconnected) => void;
}

const nothing = new Uint8Array(0);
const printable = (text: string): string => text.replace(/\p{Cc}/gu, " ");

/** One client: its queue, its sessions, its frames and its signs of life. */
export function createConnection(options: ConnectionOptions): Link {
  const { ws, id, session, admission, extension, clock, counters, log, config } = options;
  const socket = options.socket as Socket;
  const conn = extension && options.newId();
  let closing: { code: number; reason: string } | undefined;
  let violation = false;
  let begun = !extension;
  let stopWatching: Release | undefined;
  let heardAt = clock.now();
  let pingedAt = heardAt;
  let bytesRead = socket.bytesRead;
  const carried = meter(socket);
  const pace = createPace(() => socket.bytesRead);
  let messagesIn = 0;
  let messagesOut = 0;

  const sink = webSocketSink(ws, socket);
  const full = (): void => close("slow_consumer");
  /** Clients of the extension acknowledge what they have of their own session. */
  function written({ session: from, cursor: { epoch, seq } }: Heard): void {
    const progress = extension && from === session ? "sent" : "written";
    options.sessions.note(from, { epoch, after: seq - 1, upTo: seq }, progress);
  }
  const outbox = createOutbox({ sink, counters, now: () => clock.now(), written, full });

  function answer(frame: ServerFrame): void {
    counters.framesOut[frame.type] += 1;
    outbox.send(framed(nothing, encode({ ...frame, timestamp: clock.now() })));
  }

  function broken(error: unknown): void {
    log.error({ err: error, connection: id }, "a connection failed");
    close("internal");
  }

  const resuming = (after: Extension["resume"], own: string): Resuming => ({
    session,
    after,
    begin(tail) {
      countTail(counters, after !== undefined, tail);
      for (const frame of greeting({ conn: own, session, resumes: after !== undefined, tail, config: config() })) {
        answer(frame);
      }
      begun = true;
      ws.resume();
    },
  });

  ws.on("ping", pace.whole).on("pong", pace.whole);
  ws.on("message", (data) => {
    pace.whole();
    try {
      inbound.take(data as Buffer);
    } catch (error) {
      broken(error);
    }
  });
  ws.on("error", (error: NodeJS.ErrnoException) => {
    violation ||= error.code?.startsWith("WS_ERR_") ?? false;
  });
  ws.on("close", (code, reason) => {
    release();
    options.gone(connection, { connection: id, session, ...ending(code, reason.toString()) });
  });

  const subscriptions = createSubscriptions({
    log: options.sessions,
    send(bytes, entry) {
      messagesOut += 1;
      outbox.send(bytes, entry);
    },
    failed: broken,
    resuming: extension && conn ? resuming(extension.resume, conn) : undefined,
  });
  const inbound = createInbound({
    clock, counters, log, config, session, close, answer,
    acknowledges: extension !== undefined,
    newId: options.newId,
    budget: options.budget,
    deliver(message, how) {
      messagesIn += 1;
      return options.deliver(message, how);
    },
    use: subscriptions.use,
    acknowledged: subscriptions.acknowledge,
    pause: () => ws.pause(),
    resume: () => ws.resume(),
  });
  if (!begun) ws.pause(); // nothing may be answered before the greeting

  function release(): void {
    inbound.stop();
    subscriptions.close();
    outbox.clear();
    stopWatching?.();
  }

  function close(name: CloseName, retryMs?: number): void {
    if (closing) return;
    closing = { code: closes[name].code, reason: closeReason(name, retryMs) };
    release();
    ws.resume(); // or the peer's answer to the close would never be read
    ws.close(closing.code, closing.reason);
  }

  /** Who ended it: a client says a code first, the library answers a violation, a network says nothing. */
  function ending(code: number, text: string): Omit<Disconnected, "connection" | "session"> {
    if (closing) return { ...closing, initiator: "server" };
    if (violation) return { ...ws.closedWith, initiator: "server" };
    return { code, reason: printable(text), initiator: code === 1006 ? "network" : "client" };
  }

  const connection: Link = {
    id,
    conn,
    tokenVersion: admission.version,
    close,
    carried,
    isBusy: () => inbound.isPending() || outbox.waiting() > 0 || subscriptions.some(options.isBusy),
    traffic: () => ({ messagesIn, messagesOut, queuedBytes: outbox.waiting(), lastHeardAt: heardAt }),
    tick(lateMs, isSpared) {
      const now = clock.now();
      heardAt = Math.min(heardAt + lateMs, now); // the clock may have been set back, too
      pingedAt = Math.min(pingedAt, now);
      if (inbound.isPaused()) pace.whole();
      if (socket.bytesRead !== bytesRead || inbound.isPaused()) {
        bytesRead = socket.bytesRead;
        heardAt = now;
      }
      if (closing) return;
      const patience = config().read_timeout * 1_000;
      const isSilent = now - heardAt >= patience || pace.isTooSlow(now, patience, lateMs);
      const isStuck = outbox.stalledFor(now, lateMs) >= config().write_timeout * 1_000;
      if (isSilent && !isSpared) return close("heartbeat");
      if (isStuck && !isSpared) return close("slow_consumer");
      if (lateMs > 0) return void (pingedAt = 0); // at its next turn: all in one go would hold up the rest
      if (now - pingedAt < pingEveryMs(config())) return;
      pingedAt = now;
      ws.ping();
    },
  };
  subscriptions.use(session);
  stopWatching = admission.identity?.onEnd(() => close("session_ended"));
  return connection;
}
