import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock, Log, Release } from "../../kernel/index.ts";
import type { Incoming } from "../channels/index.ts";
import { closeReason, closes, type CloseName } from "../pico-wire/index.ts";
import { pingEveryMs, type PicoServerConfig } from "./config.ts";
import type { PicoServerEvents } from "./events.ts";
import type { Admission } from "./gate.ts";
import { createInbound } from "./inbound.ts";
import { createOutbox } from "./outbox.ts";
import type { PicoConnection } from "./service.ts";
import type { SessionLog } from "./session-log.ts";
import type { NamedSocket } from "./socket.ts";
import { createSubscriptions } from "./subscriptions.ts";

type Disconnected = PicoServerEvents["pico-server:disconnected"];

export interface ConnectionOptions {
  readonly ws: NamedSocket;
  readonly socket: Duplex;
  readonly id: string;
  readonly session: string;
  readonly address: string;
  readonly admission: Admission;
  readonly sessions: SessionLog;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  readonly newId: () => string;
  readonly deliver: (message: Incoming) => Promise<unknown>;
  /** The socket is gone. */
  readonly gone: (connection: Connection, fact: Disconnected) => void;
}

export interface Connection {
  readonly id: string;
  /** Of the token it came with; undefined for the dashboard's own page. */
  readonly tokenVersion: number | undefined;
  /** Says why, and cuts the socket a second later if the peer does not answer. */
  close(name: CloseName, retryMs?: number): void;
  /** Looks at the time: pings, and ends what is dead or stuck. `lateMs`: this process slept, the peer did not. */
  tick(lateMs: number): void;
  /** What changes while it lives. */
  traffic(): Pick<PicoConnection, "messagesIn" | "messagesOut" | "queuedBytes" | "lastHeardAt">;
}

const printable = (text: string): string => text.replace(/\p{Cc}/gu, " ");

/** One client: its queue, its sessions, its frames and its signs of life. */
export function createConnection(options: ConnectionOptions): Connection {
  const { ws, id, session, admission, clock, log, config } = options;
  const socket = options.socket as Socket;
  let closing: { code: number; reason: string } | undefined;
  let violation = false;
  let stopWatching: Release | undefined;
  let heardAt = clock.now();
  let pingedAt = heardAt;
  let bytesRead = socket.bytesRead;
  let messagesIn = 0;
  let messagesOut = 0;

  const outbox = createOutbox({ ws, now: () => clock.now(), full: () => close("slow_consumer") });
  const subscriptions = createSubscriptions(options.sessions, (frame) => {
    messagesOut += 1;
    outbox.send(frame);
  });
  const inbound = createInbound({
    clock, log, config, session, close,
    newId: options.newId,
    deliver: (message) => {
      messagesIn += 1;
      return options.deliver(message);
    },
    send: outbox.send,
    use: subscriptions.use,
    pause: () => ws.pause(),
    resume: () => ws.resume(),
  });

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

  const connection: Connection = {
    id,
    tokenVersion: admission.version,
    close,
    traffic: () => ({ messagesIn, messagesOut, queuedBytes: outbox.waiting(), lastHeardAt: heardAt }),
    tick(lateMs) {
      const now = clock.now();
      heardAt += lateMs;
      if (socket.bytesRead !== bytesRead || inbound.isPaused()) {
        bytesRead = socket.bytesRead;
        heardAt = now;
      }
      if (closing) return;
      if (now - heardAt >= config().read_timeout * 1_000) return close("heartbeat");
      if (outbox.stalledFor(now) >= config().write_timeout * 1_000 + lateMs) return close("slow_consumer");
      if (now - pingedAt < pingEveryMs(config())) return;
      pingedAt = now;
      ws.ping();
    },
  };

  ws.on("message", (data) => {
    try {
      inbound.take(data as Buffer);
    } catch (error) {
      log.error({ err: error, connection: id }, "a frame could not be handled");
      close("internal");
    }
  });
  ws.on("error", (error: NodeJS.ErrnoException) => {
    violation ||= error.code?.startsWith("WS_ERR_") ?? false;
  });
  ws.on("close", (code, reason) => {
    release();
    options.gone(connection, { connection: id, session, ...ending(code, reason.toString()) });
  });
  subscriptions.use(session);
  stopWatching = admission.identity?.onEnd(() => close("session_ended"));
  return connection;
}
