import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import {
  closeCodes,
  closeReason,
  type CloseName,
  type ServerFrame,
} from "../../../lib/pico-wire/index.ts";
import { pingEveryMs } from "../config.ts";
import { encodeAnswer, frameText, pingFrame, type EncodedFrame } from "../frame-encoding.ts";
import type { Admission } from "../handshake/admission.ts";
import type { AcceptedHandshake } from "../handshake/handshake.ts";
import { countResume } from "../metrics.ts";
import { helloFrames } from "../session/hello.ts";
import type { SequencedEntry } from "../session/session-log.ts";
import {
  Subscriptions,
  type StreamStart,
  type SubscriptionsOwner,
} from "../session/subscriptions.ts";
import type { ConnectionContext, DeliverMessage, DisconnectedEvent } from "./context.ts";
import { Inbound, type InboundOwner } from "./inbound.ts";
import {
  ByteCounter,
  Liveness,
  recentlySuspended,
  recheckMs,
  type ByteCounts,
} from "./liveness.ts";
import { Outbox, type OutboxOwner } from "./outbox.ts";
import type { ConnectionInfo, Peer, Traffic } from "./registry.ts";
import { WebSocketSink } from "./sink.ts";
import { unscheduled } from "./timer-wheel.ts";
import {
  discardArrivals,
  watchArrivals,
  type ChannelWebSocket,
  type WebSocketListener,
} from "./web-socket.ts";

/** What a close says. */
export interface CloseFrame {
  readonly code: number;
  readonly reason: string;
}

type CloseOutcome = Omit<DisconnectedEvent, "connection" | "session">;

const stripControls = (text: string): string => text.replace(/\p{Cc}/gu, " ");

/** Who ended a connection: a client says a code first, the library answers a violation, a network says nothing. `own`:
 *  what this side said first. */
export function closeOutcome(
  code: number,
  text: string,
  own: CloseFrame | undefined,
): CloseOutcome {
  if (own) return { code: own.code, reason: own.reason, initiator: "server" };
  return { code, reason: stripControls(text), initiator: code === 1006 ? "network" : "client" };
}

/** Bytes a client may send after the close, its answer among them, before they are dropped unread. */
const maxLateBytes = 64 * 1024;

/** Pings and pongs of one client in one second; each costs as much time as a message. */
const maxControlFrames = 1_000;

/** One client: its queue, its sessions, its frames and its signs of life. There may be tens of thousands on which
 *  nothing happens: what one of them may never need is made when it is needed. */
export class Connection
  implements Peer, WebSocketListener, InboundOwner, OutboxOwner, SubscriptionsOwner
{
  readonly id: string;
  readonly conn: string | undefined;
  readonly session: string;
  readonly tokenVersion: number | undefined;
  readonly acknowledges: boolean;
  known: ConnectionInfo | undefined = undefined;
  slot = unscheduled;
  private readonly shared: ConnectionContext;
  private readonly ws: ChannelWebSocket;
  private readonly socket: Duplex;
  private readonly pulse: Liveness;
  private readonly meter: ByteCounter;
  private readonly sink: WebSocketSink;
  private readonly outbox: Outbox;
  private readonly inbound: Inbound;
  private readonly subscriptions: Subscriptions;
  private messagesIn = 0;
  private messagesOut = 0;
  private said: CloseFrame | undefined = undefined;
  private isViolated = false;
  private isClosing = false;
  /** Pings and pongs of this second. */
  private controlFrames = 0;
  private controlSecond = 0;
  /** Bytes that arrived after the close. */
  private lateBytes = 0;
  private readonly resumes: boolean;
  private isBegun = false;
  private readonly stopWatching: (() => void) | undefined;

  constructor(
    context: ConnectionContext,
    id: string,
    { ws, socket, session, extension }: AcceptedHandshake,
    admission: Admission,
  ) {
    this.shared = context;
    this.id = id;
    this.ws = ws;
    this.socket = socket;
    this.session = session;
    this.tokenVersion = admission.version;
    this.acknowledges = extension !== undefined;
    this.conn = extension && context.newId();
    this.resumes = extension?.resume !== undefined;
    this.pulse = new Liveness(socket as Socket, context.awake.now());
    this.meter = new ByteCounter(socket as Socket);
    this.sink = new WebSocketSink(ws, socket);
    this.outbox = new Outbox(context, this, this.sink);
    this.inbound = new Inbound(context, this);
    this.subscriptions = new Subscriptions(context.sessions, this);
    ws.keeper = this;
    watchArrivals(socket, this);
    if (extension) this.subscriptions.resume(session, extension.resume);
    else this.subscriptions.use(session);
    if (extension && !this.isBegun) ws.pause(); // nothing may be answered before the greeting
    this.stopWatching = admission.identity?.onEnd(() => this.close("session_ended"));
  }

  close(name: CloseName, retryMs?: number): void {
    if (this.said) return;
    this.said = { code: closeCodes[name].code, reason: closeReason(name, retryMs) };
    this.release();
    this.ws.resume(); // or the peer's answer to the close would never be read
    this.ws.close(this.said.code, this.said.reason);
  }

  isBusy(): boolean {
    return (
      this.inbound.isPending() ||
      this.outbox.waiting() > 0 ||
      this.subscriptions.some(this.shared.isBusy)
    );
  }

  carried(): ByteCounts {
    return this.meter.carried();
  }

  traffic(): Traffic {
    const {
      messagesIn,
      messagesOut,
      pulse,
      shared: { clock, awake },
    } = this;
    const lastHeardAt = clock.now() - (awake.now() - pulse.heardAt);
    return { messagesIn, messagesOut, queuedBytes: this.outbox.waiting(), lastHeardAt };
  }

  check(): number {
    const {
      pulse,
      outbox,
      inbound,
      shared: { awake, config },
    } = this;
    const now = awake.now();
    const { read_timeout, write_timeout } = config();
    const askEveryMs = pingEveryMs(config());
    if (this.said) return askEveryMs;
    if (inbound.isPaused) pulse.touch(now);
    if (inbound.isHurried) inbound.checkDeadline(now);
    const found = pulse.inspect(awake, read_timeout * 1_000, askEveryMs);
    if (found === "silent") this.close("heartbeat");
    else if (outbox.stalledFor(now) >= write_timeout * 1_000 && !recentlySuspended(awake))
      this.close("slow_consumer");
    else if (found === "ask") outbox.control(pingFrame);
    const restMs = pulse.nextCheckIn(now, read_timeout * 1_000, askEveryMs);
    return inbound.isPaused || inbound.isHurried || outbox.isStalling()
      ? Math.min(recheckMs, restMs)
      : restMs;
  }

  received(chunk: Buffer): void {
    if (!this.isClosing) return this.inbound.received(chunk);
    this.lateBytes += chunk.byteLength;
    if (this.lateBytes > maxLateBytes) discardArrivals(this.socket);
  }

  message(data: Buffer): void {
    this.beat();
    try {
      this.inbound.take(data);
    } catch (error) {
      this.failed(error);
    }
  }

  ping(payload: Buffer): void {
    this.pong();
    this.outbox.answerPing(payload);
  }

  pong(): void {
    this.countControl();
    if (this.inbound.isUnfinished()) this.pulse.heard(this.shared.awake.now());
    else this.beat();
  }

  private countControl(): void {
    const second = Math.floor(this.shared.awake.now() / 1_000);
    if (second !== this.controlSecond) this.controlFrames = 0;
    this.controlSecond = second;
    this.controlFrames += 1;
    if (this.controlFrames > maxControlFrames) this.close("rate_limited", 5_000);
  }

  private beat(): void {
    this.pulse.touch(this.shared.awake.now());
  }

  violated({ code }: NodeJS.ErrnoException): void {
    this.isViolated ||= code?.startsWith("WS_ERR_") ?? false;
  }

  closing(): void {
    this.isClosing = true;
    this.sink.flush();
  }

  closed(code: number, reason: string): void {
    this.release();
    this.inbound.gone();
    const ending = closeOutcome(
      code,
      reason,
      this.said ?? (this.isViolated ? this.ws.closedWith : undefined),
    );
    this.shared.gone(this, { connection: this.id, session: this.session, ...ending });
  }

  answer(frame: ServerFrame): void {
    const { counters, clock } = this.shared;
    counters.framesOut[frame.type] += 1;
    this.outbox.send(frameText(encodeAnswer(frame, clock.now())));
  }

  hand(...message: Parameters<DeliverMessage>): void {
    this.messagesIn += 1;
    this.shared.hand(...message);
  }

  use(session: string): void {
    this.subscriptions.use(session);
  }

  acknowledged(seq: number): void {
    this.subscriptions.acknowledge(seq);
  }

  pause(isPaused: boolean): void {
    this.ws[isPaused ? "pause" : "resume"]();
  }

  send(frame: EncodedFrame, entry: SequencedEntry): void {
    this.messagesOut += 1;
    this.outbox.send(frame, entry);
  }

  /** Where the session stands, to a client of the extension. */
  begin(start: StreamStart): void {
    const {
      session,
      conn = "",
      resumes,
      shared: { counters, config },
    } = this;
    countResume(counters, resumes, start);
    for (const frame of helloFrames({ conn, session, resumes, tail: start, config: config() }))
      this.answer(frame);
    this.isBegun = true;
    this.ws.resume();
  }

  failed(error: unknown): void {
    this.shared.log.error({ err: error, connection: this.id }, "a connection failed");
    this.close("internal");
  }

  /** Clients of the extension acknowledge what they have of their own session. */
  written(entry: SequencedEntry): void {
    const {
      session,
      cursor: { epoch, seq },
    } = entry;
    if (!this.acknowledges || session !== this.session) return this.shared.written(entry);
    this.shared.sessions.note(session, { epoch, after: seq - 1, upTo: seq }, "sent");
  }

  full(): void {
    this.close("slow_consumer");
  }

  watch(): void {
    this.shared.reschedule(this);
  }

  private release(): void {
    this.inbound.stop();
    this.subscriptions.close();
    this.outbox.clear();
    this.stopWatching?.();
  }
}
