/**
 * One WebSocket connection: connects the socket to its inbound frames, send queue, subscriptions
 * and liveness checks.
 */
import type { Socket } from "node:net";
import {
  closeCodes,
  closeReason,
  encode,
  type CloseName,
  type ServerFrame,
} from "../../../lib/pico-wire/index.ts";
import type { Sender } from "../../channels/index.ts";
import { pingEveryMs } from "../config.ts";
import { frameBytes, frameText, pingFrame, type EncodedFrame } from "../frame-encoding.ts";
import { noFeatures, type Features } from "../session/features.ts";
import type { Admission } from "../handshake/admission.ts";
import type { SessionScope } from "../session/session-scope.ts";
import type { AcceptedHandshake } from "../handshake/handshake.ts";
import { ByteCounter, countResume } from "../metrics.ts";
import { storeErrorOf } from "../session/channel-adapter.ts";
import { helloFrames } from "../session/hello.ts";
import type { SequencedEntry } from "../../conversations/index.ts";
import {
  Subscriptions,
  type StreamStart,
  type SubscriptionsOwner,
} from "../session/subscriptions.ts";
import type { ConnectionContext } from "./context.ts";
import { Inbound, type InboundOwner } from "./inbound.ts";
import { Liveness, recentlySuspended, recheckMs, unscheduled } from "./liveness.ts";
import { Outbox, type OutboxOwner } from "./outbox.ts";
import type { ByteCounts, ConnectionInfo, Peer, Traffic } from "./registry.ts";
import type { ChannelWebSocket, CloseOutcome, WebSocketListener } from "./web-socket.ts";

const stripControls = (text: string): string => text.replace(/\p{Cc}/gu, " ");

/** Pings and pongs per client and second. Each one costs as much time as a message. */
const maxControlFrames = 1_000;

/**
 * Tens of thousands of idle connections may exist, so members that a connection may never need are
 * created on first use.
 */
export class Connection
  implements Peer, WebSocketListener, InboundOwner, OutboxOwner, SubscriptionsOwner
{
  readonly id: string;
  readonly conn: string | undefined;
  readonly session: string;
  readonly tokenVersion: number | undefined;
  readonly sender: Sender;
  readonly may: InboundOwner["may"];
  readonly answerer: InboundOwner["answerer"];
  readonly scope: SessionScope | undefined;
  readonly acknowledges: boolean;
  readonly features: Features;
  known: ConnectionInfo | undefined = undefined;
  dueAt = unscheduled;
  private readonly context: ConnectionContext;
  private readonly ws: ChannelWebSocket;
  private readonly liveness: Liveness;
  private readonly byteCounter: ByteCounter;
  private readonly outbox: Outbox;
  private readonly inbound: Inbound;
  readonly subscriptions: Subscriptions;
  private messagesIn = 0;
  private messagesOut = 0;
  private isReleased = false;
  /** Pings and pongs in the current second. */
  private controlFrames = 0;
  private controlSecond = 0;
  private readonly resumes: boolean;
  private hasSentHello = false;
  private readonly stopSignOutWatch: (() => void) | undefined;

  constructor(
    context: ConnectionContext,
    id: string,
    { ws, socket, session, extension }: AcceptedHandshake,
    admission: Admission,
  ) {
    this.context = context;
    this.id = id;
    this.ws = ws;
    this.session = session;
    this.tokenVersion = admission.version;
    this.sender = admission.sender;
    const { sender, owner, mayAnswer, may, method, via } = admission;
    this.answerer = { sender, owner, mayAnswer, may, method, via };
    this.may = may;
    this.scope = admission.scope;
    this.acknowledges = extension !== undefined;
    this.features = extension?.features ?? noFeatures;
    if (this.features.ends) context.ends.watch(session);
    this.conn = extension && context.runtime.newId();
    this.resumes = extension?.resume !== undefined;
    this.liveness = new Liveness(socket as Socket, context.registry.checkClock.now());
    this.byteCounter = new ByteCounter(socket as Socket);
    this.outbox = new Outbox(context, this, ws);
    this.inbound = new Inbound(context, this);
    this.subscriptions = new Subscriptions(context.sessions, this);
    ws.listen(this);
    const running = this.features.ends ? () => context.delivery.running(session) : undefined;
    if (extension) this.subscriptions.resume(session, extension.resume, running);
    else this.subscriptions.use(session);
    if (extension && !this.hasSentHello) ws.pause(); // no response may precede `hello`
    this.stopSignOutWatch = admission.identity?.onEnd(() => this.close("session_ended"));
  }

  get knowsRunning(): boolean {
    return this.features.ends;
  }

  close(name: CloseName, retryMs?: number): void {
    if (this.isReleased) return;
    this.release();
    this.ws.close(closeCodes[name].code, closeReason(name, retryMs));
  }

  isBusy(): boolean {
    return (
      this.inbound.isPending() ||
      this.outbox.waiting() > 0 ||
      this.subscriptions.some(this.context.delivery.isBusy)
    );
  }

  byteCounts(): ByteCounts {
    return this.byteCounter.read();
  }

  traffic(): Traffic {
    const { messagesIn, messagesOut, liveness, context } = this;
    const silentMs = context.registry.checkClock.now() - liveness.receivedAt;
    const lastHeardAt = context.runtime.clock.now() - silentMs;
    return { messagesIn, messagesOut, queuedBytes: this.outbox.waiting(), lastHeardAt };
  }

  check(): number {
    const { ws, liveness, outbox, inbound, context } = this;
    const { checkClock } = context.registry;
    const now = checkClock.now();
    const config = context.runtime.config();
    const { read_timeout, write_timeout } = config;
    const pingIntervalMs = pingEveryMs(config);
    if (!ws.isOpen()) return pingIntervalMs;
    if (inbound.isPaused) liveness.touch(now);
    if (inbound.hasDeadline) inbound.checkDeadline(now);
    const state = liveness.inspect(checkClock, read_timeout * 1_000, pingIntervalMs);
    if (state === "dead") this.close("heartbeat");
    else if (outbox.stalledFor(now) >= write_timeout * 1_000 && !recentlySuspended(checkClock))
      this.close("slow_consumer");
    else if (state === "ping_due") outbox.sendControl(pingFrame);
    const nextMs = liveness.nextCheckIn(now, read_timeout * 1_000, pingIntervalMs);
    return inbound.isPaused || inbound.hasDeadline || outbox.isStalling()
      ? Math.min(recheckMs, nextMs)
      : nextMs;
  }

  message(data: Buffer): void {
    this.touch();
    try {
      this.inbound.accept(data);
    } catch (error) {
      this.failed(error);
    }
  }

  ping(payload: Buffer): void {
    this.pong();
    this.outbox.sendPong(payload);
  }

  pong(): void {
    this.countControl();
    if (this.ws.isInMessage())
      this.liveness.touchDuringMessage(this.context.registry.checkClock.now());
    else this.touch();
  }

  private countControl(): void {
    const second = Math.floor(this.context.registry.checkClock.now() / 1_000);
    if (second !== this.controlSecond) this.controlFrames = 0;
    this.controlSecond = second;
    this.controlFrames += 1;
    if (this.controlFrames > maxControlFrames) this.close("rate_limited", 5_000);
  }

  unfinished(bytes: number): void {
    this.inbound.arrived(bytes);
  }

  private touch(): void {
    this.liveness.touch(this.context.registry.checkClock.now());
  }

  closed({ code, reason, initiator }: CloseOutcome): void {
    const { id: connection, session, context } = this;
    this.release();
    this.inbound.closed();
    const outcome = { code, reason: stripControls(reason), initiator };
    context.registry.closed(this, { connection, session, ...outcome });
  }

  respond(frame: ServerFrame): void {
    const { counters, runtime } = this.context;
    counters.framesOut[frame.type] += 1;
    this.outbox.send(frameText(encode({ ...frame, timestamp: runtime.clock.now() })));
  }

  countMessage(): void {
    this.messagesIn += 1;
  }

  use(session: string): void {
    if (this.features.ends) this.context.ends.watch(session);
    this.subscriptions.use(session);
  }

  usesSession(session: string): boolean {
    return session === this.session || this.subscriptions.has(session);
  }

  acknowledged(seq: number): void {
    this.subscriptions.acknowledge(seq);
  }

  isCongested(): boolean {
    return this.outbox.isCongested();
  }

  queueDrained(): void {
    if (this.inbound.isPaused) this.inbound.drain();
  }

  pause(isPaused: boolean): void {
    this.ws[isPaused ? "pause" : "resume"]();
  }

  send(
    frame: EncodedFrame,
    entry: SequencedEntry,
    whole?: (entry: SequencedEntry) => EncodedFrame,
  ): void {
    this.messagesOut += 1;
    this.outbox.send(frame, entry, whole);
  }

  questions(session: string): ReturnType<ConnectionContext["delivery"]["questions"]> {
    return this.context.delivery.questions(session);
  }

  /** Sends `hello`, and `gap` if frames are missing, to a client of the extension. */
  streamStarted(start: StreamStart): void {
    const { session, conn = "", resumes, context, features } = this;
    const config = context.runtime.config();
    countResume(context.counters, resumes, start);
    const { limits } = context.sessions;
    const hello = { conn, session, resumes, replay: start, config, limits, features };
    for (const frame of helloFrames(hello)) this.respond(frame);
    this.hasSentHello = true;
    this.ws.resume();
  }

  streamReplayed(count: number, kept: StreamStart["ends"]): void {
    if (!this.features.ends || (!this.resumes && count === 0)) return;
    const { ends, runtime, counters } = this.context;
    for (const frame of kept ?? []) {
      counters.framesOut["answer.end"] += 1;
      this.outbox.send(frameBytes(frame));
    }
    if (!kept)
      for (const frame of ends.recent(this.session, runtime.clock.now())) this.respond(frame);
  }

  failed(error: unknown): void {
    this.context.runtime.log.error({ err: error, connection: this.id }, "Connection failed");
    this.close(storeErrorOf(error) === undefined ? "internal" : "try_later");
  }

  /**
   * Clients of the extension acknowledge the frames of their own session; for all others, writing
   * counts as delivery.
   */
  written(entry: SequencedEntry): void {
    const {
      session,
      cursor: { epoch, seq },
    } = entry;
    if (!this.acknowledges || session !== this.session) return this.context.written(entry);
    this.context.sessions.note(session, { epoch, after: seq - 1, upTo: seq }, "sent");
  }

  queueFull(): void {
    this.close("slow_consumer");
  }

  scheduleCheck(): void {
    this.context.registry.reschedule(this);
  }

  private release(): void {
    this.isReleased = true;
    this.inbound.stop();
    this.subscriptions.close();
    this.outbox.clear();
    this.stopSignOutWatch?.();
  }
}
