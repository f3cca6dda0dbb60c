// Sends the messages of one session as server-sent events, for networks that block WebSockets.
import type { ServerResponse } from "node:http";
import type { Release } from "../../../kernel/index.ts";
import {
  closeReason,
  closeCodes,
  encode,
  formatCursor,
  type CloseName,
  type ServerFrame,
} from "../../../lib/pico-wire/index.ts";
import type { Sender } from "../../channels/index.ts";
import { pingEveryMs } from "../config.ts";
import type { CloseOutcome } from "../connection/web-socket.ts";
import type { ConnectionContext } from "../connection/context.ts";
import { recentlySuspended, recheckMs, unscheduled } from "../connection/liveness.ts";
import { Outbox, type OutboxOwner } from "../connection/outbox.ts";
import type { ConnectionInfo, Peer, Traffic } from "../connection/registry.ts";
import { createResponseSink } from "../connection/sink.ts";
import {
  encodeGrowth,
  frameTypeOf,
  isNotice,
  memoizeLast,
  placeholderText,
} from "../frame-encoding.ts";
import type { Features } from "../session/features.ts";
import { SentTexts } from "../session/sent-texts.ts";
import { formOf } from "../session/whole-texts.ts";
import type { Admission } from "../handshake/admission.ts";
import { ByteCounter, countResume } from "../metrics.ts";
import { helloFrames, retryBounds } from "../session/hello.ts";
import type { Cursor, SequencedEntry } from "../../conversations/index.ts";
import { SessionReader, type ReaderListener, type StreamStart } from "../session/subscriptions.ts";
import { openEventStream, retryLargeSeconds } from "../../http/kit.ts";

interface EventStreamOptions {
  readonly response: ServerResponse;
  readonly headers: Readonly<Record<string, string>>;
  readonly id: string;
  readonly session: string;
  readonly after: Cursor | undefined;
  readonly features: Features;
  readonly greets: boolean;
  readonly hold: (bytes: number) => Release | undefined;
  readonly admission: Pick<Admission, "version" | "sender" | "identity">;
}

/** The event id is the cursor after the event: `Last-Event-ID` resumes there. */
function encodeEvent(data: Uint8Array | string, cursor?: Cursor): Buffer {
  const id = cursor ? `id: ${formatCursor(cursor)}\n` : "";
  return Buffer.concat([Buffer.from(`${id}data: `), Buffer.from(data), Buffer.from("\n\n")]);
}
const encodeEventOnce = memoizeLast(({ frame, numbered, cursor }) =>
  encodeEvent(frame, numbered ? cursor : undefined),
);
const encodeGrowthOnce = memoizeLast((entry) =>
  encodeEvent(encodeGrowth(entry, entry.growth!), entry.numbered ? entry.cursor : undefined),
);
/** As on the WebSocket, a client without turns receives the number, so that it sees no hole. */
const encodePlaceholderOnce = memoizeLast((entry) =>
  encodeEvent(placeholderText(entry), entry.cursor),
);
const encodePreamble = (cursor: Cursor): Buffer =>
  Buffer.from(`retry: ${retryBounds.min * 2}\nid: ${formatCursor(cursor)}\n\n`);
const keepAliveComment = Buffer.from(":\n\n");

/** Milliseconds that a client has to end the response before its socket is destroyed. */
const closeGraceMs = 1_000;

/** The response headers are sent before the constructor returns. */
export class EventStream implements Peer, OutboxOwner, ReaderListener {
  readonly id: string;
  readonly tokenVersion: number | undefined;
  readonly sender: Sender;
  dueAt = unscheduled;
  known: ConnectionInfo | undefined = undefined;
  private readonly context: ConnectionContext;
  private readonly session: string;
  private readonly after: Cursor | undefined;
  private readonly features: Features;
  private readonly greets: boolean;
  private readonly hold: (bytes: number) => Release | undefined;
  /** Frees the memory of the replay, which this stream has not sent completely. */
  private releaseReplay: Release | undefined;
  private readonly texts: SentTexts | undefined;
  private readonly response: ServerResponse;
  private readonly byteCounter: ByteCounter;
  private readonly outbox: Outbox;
  private readonly reader: SessionReader;
  private readonly stopSignOutWatch: (() => void) | undefined;
  /** Set once this server has ended the stream. */
  private outcome: CloseOutcome | undefined;
  private messagesOut = 0;
  private keptAliveAt: number;

  constructor(context: ConnectionContext, options: EventStreamOptions) {
    const { response, headers, id, session, after, features, greets, hold, admission } = options;
    this.context = context;
    this.id = id;
    this.session = session;
    this.after = after;
    this.features = features;
    this.greets = greets;
    this.hold = hold;
    this.texts = features.append ? new SentTexts() : undefined;
    if (features.ends) context.ends.watch(session);
    this.tokenVersion = admission.version;
    this.sender = admission.sender;
    this.response = response;
    this.keptAliveAt = context.registry.checkClock.now();
    openEventStream(response, headers);
    this.byteCounter = new ByteCounter(response.socket);
    this.outbox = new Outbox(context, this, createResponseSink(response));
    this.reader = new SessionReader(context.sessions, session, this);
    response.on("close", () => this.onClose());
    this.stopSignOutWatch = admission.identity?.onEnd(() => this.close("session_ended"));
    const { turns, ends } = features;
    const running = ends ? () => context.delivery.running(session) : undefined;
    const questions = features.questions ? () => context.delivery.questions(session) : undefined;
    this.reader.start({ after, resumes: true, turns, ends, running, questions });
  }

  get knowsRunning(): boolean {
    return this.features.ends;
  }

  close(name: CloseName, retryMs?: number): void {
    if (this.outcome) return;
    const { response, context } = this;
    const { clock } = context.runtime;
    const { code } = closeCodes[name];
    this.outcome = { code, reason: closeReason(name, retryMs), initiator: "server" };
    this.reader.stop();
    if (retryMs !== undefined) this.send(Buffer.from(`retry: ${Math.round(retryMs)}\n\n`));
    this.outbox.clear();
    const timer = clock.setTimeout(() => response.destroy(), closeGraceMs);
    response.once("close", () => clock.clearTimeout(timer));
    response.end();
  }

  byteCounts(): { readonly in: number; readonly out: number } {
    return this.byteCounter.read();
  }

  usesSession(session: string): boolean {
    return session === this.session;
  }

  isBusy(): boolean {
    return this.outbox.waiting() > 0 || this.context.delivery.isBusy(this.session);
  }

  traffic(): Traffic {
    const { runtime, registry } = this.context;
    const silentMs = registry.checkClock.now() - this.keptAliveAt;
    return {
      messagesIn: 0,
      messagesOut: this.messagesOut,
      queuedBytes: this.outbox.waiting(),
      lastHeardAt: runtime.clock.now() - silentMs,
    };
  }

  check(): number {
    const { outbox, context } = this;
    const { checkClock } = context.registry;
    const config = context.runtime.config();
    const now = checkClock.now();
    const intervalMs = pingEveryMs(config);
    if (this.outcome) return intervalMs;
    if (outbox.waiting() === 0) this.releaseReplay?.();
    const isStalled = outbox.stalledFor(now) >= config.write_timeout * 1_000;
    if (isStalled && !recentlySuspended(checkClock)) this.close("slow_consumer");
    else if (now - this.keptAliveAt >= intervalMs) {
      this.keptAliveAt = now;
      this.send(keepAliveComment);
    }
    return outbox.isStalling() ? recheckMs : this.keptAliveAt + intervalMs - now;
  }

  begin(_: SessionReader, replay: StreamStart): void {
    const { counters, runtime, sessions } = this.context;
    const { id: conn, session, features } = this;
    const { top, gap, frames, partials } = replay;
    const bytes = [...frames, ...partials].reduce((sum, { length }) => sum + length, 0);
    this.releaseReplay = this.hold(bytes);
    if (!this.releaseReplay) return this.close("try_later", retryLargeSeconds * 1_000);
    const resumes = this.after !== undefined;
    countResume(counters, resumes, gap ? { gap } : {});
    this.send(encodePreamble({ ...top, seq: top.seq - frames.length }));
    const { limits } = sessions;
    const options = { conn, session, resumes, replay, limits, features };
    const timestamp = runtime.clock.now();
    for (const frame of helloFrames({ ...options, config: runtime.config() })) {
      if (frame.type === "hello" && !this.greets) continue;
      counters.framesOut[frame.type] += 1;
      this.send(encodeEvent(encode({ ...frame, timestamp })));
    }
  }

  accept(_: SessionReader, entry: SequencedEntry): void {
    const type = frameTypeOf(entry);
    if (type === "answer.end" && !this.features.ends) return;
    if (!this.features.notices && isNotice(entry)) {
      if (entry.numbered) this.outbox.send(encodePlaceholderOnce(entry), entry);
      return;
    }
    if (type === "message.user" && !this.features.turns) {
      this.messagesOut += 1;
      return this.outbox.send(encodePlaceholderOnce(entry), entry);
    }
    const form = formOf(entry, this.texts);
    if (form === "nothing") return;
    this.messagesOut += 1;
    if (form === "added") this.outbox.send(encodeGrowthOnce(entry), entry, encodeEventOnce);
    else this.outbox.send(encodeEventOnce(entry), entry);
  }

  replayed(_: SessionReader, count: number, kept: StreamStart["ends"]): void {
    if (!this.features.ends || (this.after === undefined && count === 0)) return;
    const { ends, runtime, counters } = this.context;
    const timestamp = runtime.clock.now();
    const encodeEnd = (frame: ServerFrame): string => encode({ ...frame, timestamp });
    for (const data of kept ?? ends.recent(this.session, timestamp).map(encodeEnd)) {
      counters.framesOut["answer.end"] += 1;
      this.send(encodeEvent(data));
    }
  }

  failed(error: unknown): void {
    this.context.runtime.log.error({ err: error, connection: this.id }, "Event stream failed");
    this.close("try_later");
  }

  queueFull(): void {
    this.close("slow_consumer");
  }

  queueDrained(): void {
    if (this.outbox.waiting() === 0) this.releaseReplay?.();
  }

  scheduleCheck(): void {
    this.context.registry.reschedule(this);
  }

  written(entry: SequencedEntry): void {
    this.context.written(entry);
  }

  private send(bytes: Buffer): void {
    this.outbox.send(bytes);
  }

  private onClose(): void {
    this.reader.stop();
    this.outbox.clear();
    this.stopSignOutWatch?.();
    const { id: connection, session } = this;
    const byClient = { code: closeCodes.normal.code, reason: "", initiator: "client" } as const;
    const outcome = this.outcome ?? byClient;
    this.context.registry.closed(this, { connection, session, ...outcome });
  }
}
