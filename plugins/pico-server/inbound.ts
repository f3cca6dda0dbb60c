import type { Clock, Log } from "../../kernel/index.ts";
import type { Incoming, Media } from "../channels/index.ts";
import {
  decode, errors, WireError,
  type ClientFrame, type CloseName, type ErrorCode, type Inline, type MessagePayload, type ServerFrame,
} from "../pico-wire/index.ts";
import type { Budget, Holder } from "./budget.ts";
import { messageRate, type PicoServerConfig } from "./config.ts";
import type { Counters } from "./counters.ts";
import { refusalFor } from "./failures.ts";
import { createBucket, createStrikes } from "./rates.ts";

const mostPending = 32;
const deduped = { dedupe: true } as const;
const plain = { dedupe: false } as const;
/** Looked into for the id although it is refused. */
const smallFrame = 64 * 1024;
const minuteMs = 60_000;

export interface InboundOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  /** The session of frames that name none. */
  readonly session: string;
  readonly newId: () => string;
  readonly deliver: (message: Incoming, options: { dedupe: boolean }) => Promise<"accepted" | "duplicate">;
  /** The peer is told what was taken, and messages it sends again are taken once. */
  readonly acknowledges: boolean;
  /** The peer has everything up to this number. */
  readonly acknowledged: (seq: number) => void;
  readonly answer: (frame: ServerFrame) => void;
  readonly close: (name: CloseName, retryMs?: number) => void;
  readonly counters: Counters;
  /** A frame named this session. */
  readonly use: (session: string) => void;
  /** Of all connections. */
  readonly budget: Budget;
  readonly pause: () => void;
  readonly resume: () => void;
}

/** Of the frame that is refused, as far as they could be read. */
interface Names {
  readonly requestId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly message?: string | undefined;
}

export interface Inbound {
  take(data: Uint8Array): void;
  isPaused(): boolean;
  /** Something was read and is not accepted yet. */
  isPending(): boolean;
  stop(): void;
}

const none: readonly Media[] = [];
const image = ({ type, base64 }: Inline): Media => ({ type, bytes: Buffer.from(base64, "base64") });

/** Frames of one connection, in the order they came. Reading pauses while 32 messages are not accepted, and while all
 *  connections together hold too much. */
export function createInbound(options: InboundOptions): Inbound {
  const { clock, log, config, session: bound, budget, answer, close, counters: { framesIn } } = options;
  const allowed = createBucket(() => messageRate(config()), clock.now());
  const tooFast = createStrikes(5, minuteMs);
  const malformed = createStrikes(20, minuteMs);
  /** What had left the socket before the pause began. */
  const waiting: Uint8Array[] = [];
  let pending = 0;
  let paused = false;
  let isHeld = false;
  let stopped = false;

  const holder: Holder = {
    bytes: 0,
    hold(should) {
      isHeld = should;
      drain();
    },
  };

  function refuse(code: ErrorCode, from: Names): void {
    const { requestId, sessionId = bound } = from;
    const request = requestId === undefined ? {} : { request_id: requestId };
    const payload = { code, message: from.message ?? errors[code].message, ...request };
    answer({ type: "error", session_id: sessionId, payload });
  }

  function read(data: Uint8Array): ClientFrame | WireError {
    try {
      return decode(data, "client");
    } catch (error) {
      if (error instanceof WireError) return error;
      throw error;
    }
  }

  function slowDown(data: Uint8Array): void {
    framesIn.invalid += 1;
    const frame = data.byteLength <= smallFrame ? read(data) : undefined;
    const names = frame instanceof WireError ? frame : { requestId: frame?.id, sessionId: frame?.session_id };
    refuse("rate_limited", { requestId: names.requestId, sessionId: names.sessionId });
    if (tooFast(clock.now())) close("rate_limited", 5_000);
  }

  function failed({ session, id }: Incoming, error: unknown): void {
    const { code, message } = refusalFor(error);
    if (code === "internal") log.error({ err: error, session, id }, "a message could not be processed");
    refuse(code, { requestId: id, sessionId: session, message });
  }

  /** Who named the message can be told, and is known when it sends it again. */
  function handOver(bytes: number, named: string | undefined, session: string, payload: MessagePayload): void {
    const { content, media, hops } = payload;
    const id = named ?? options.newId();
    const images = media.length === 0 ? none : media.map(image);
    const message = { channel: "pico", session, id, content, media: images, at: clock.now(), hops };
    const isKnown = options.acknowledges && named !== undefined;
    pending += 1;
    budget.grow(holder, bytes);
    const settle = (): void => {
      pending -= 1;
      budget.shrink(holder, bytes);
      drain();
    };
    options.deliver(message, isKnown ? deduped : plain).then((status) => {
      if (isKnown) answer({ type: "message.ack", session_id: session, payload: { request_id: id, status } });
      settle();
    }, (error: unknown) => {
      failed(message, error);
      settle();
    });
  }

  function handle(data: Uint8Array): void {
    const frame = read(data);
    if (frame instanceof WireError) {
      framesIn.invalid += 1;
      refuse(frame.code, frame);
      if (frame.code === "invalid_message" && malformed(clock.now())) close("bad_request");
      return;
    }
    const session = frame.session_id ?? bound;
    options.use(session);
    const { type, id } = frame;
    framesIn[type] += 1;
    if (type === "ping") answer({ type: "pong", session_id: session, ...(id === undefined ? {} : { id }) });
    if (type === "message.send" || type === "media.send") handOver(data.byteLength, id, session, frame.payload);
    if (type === "ack" && options.acknowledges) options.acknowledged(frame.payload.seq);
    // typing.start and typing.stop: nobody in here asks for them
  }

  /** One message may always be handed over, or all could wait for each other. */
  const isFull = (): boolean => pending >= mostPending || (isHeld && pending > 0);
  const next = (): Uint8Array | undefined => (stopped || isFull() ? undefined : waiting.shift());

  function drain(): void {
    for (let data = next(); data; data = next()) {
      budget.shrink(holder, data.byteLength);
      handle(data);
    }
    const full = isFull() || waiting.length > 0;
    if (full === paused || stopped) return;
    paused = full;
    if (full) options.pause();
    else options.resume();
  }

  return {
    take(data) {
      if (stopped) return;
      if (!allowed(clock.now())) return slowDown(data);
      if (waiting.length === 0 && !isFull()) {
        handle(data);
      } else {
        waiting.push(data);
        budget.grow(holder, data.byteLength);
      }
      drain();
    },
    isPaused: () => paused,
    isPending: () => pending + waiting.length > 0,
    stop() {
      stopped = true;
      for (const { byteLength } of waiting.splice(0)) budget.shrink(holder, byteLength);
      budget.leave(holder);
    },
  };
}
