import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock, Log } from "../../../kernel/index.ts";
import {
  WireError,
  decodeRequest,
  messageErrors,
  type MessageRequest,
} from "../../../lib/pico-wire/index.ts";
import type { InboundMessage } from "../../channels/index.ts";
import { messageRateOf, type PicoServerConfig } from "../config.ts";
import type { MemoryBudget } from "../connection/memory-budget.ts";
import { createKeyedBuckets } from "../connection/rate-limit.ts";
import type { ConnectionRegistry } from "../connection/registry.ts";
import type { Admission, AdmissionControl } from "../handshake/admission.ts";
import type { Rejection } from "../handshake/rejection.ts";
import type { HandshakeRequest } from "../handshake/request.ts";
import { toChannelMedia, toMessageError } from "../session/mapping.ts";
import type { SessionLog } from "../session/session-log.ts";
import type { JsonResponse } from "./router.ts";
import { maxWaitSeconds, readWait, waitForReply } from "./wait-for-reply.ts";

/** After half a minute, what comes slower than this is given up. */
const graceMs = 30_000;
const checkMs = 5_000;
const minBytesPerSecond = 16 * 1024;
const busyRejection: Rejection = {
  code: "busy",
  message: "Too much waits for the application; try again shortly.",
};

export interface BodyOptions {
  readonly most: number;
  readonly clock: Clock;
  /** `false`: there is no room for so many bytes more. */
  readonly take: (bytes: number) => boolean;
}

/** What has come so far; nothing is taken any more once it was answered. */
interface BodyProgress {
  bytes: number;
  isAnswered: boolean;
}

/** The whole body, or why it was not taken. Undefined: the peer went away. */
export async function readBody(
  request: IncomingMessage,
  options: BodyOptions,
): Promise<Buffer | Rejection | undefined> {
  const { clock } = options;
  const progress: BodyProgress = { bytes: 0, isAnswered: false };
  let passedMs = 0; // counted: the clock may be set meanwhile
  let timer: unknown;
  const tooSlow = new Promise<Rejection>((give) => {
    const checkIn = (ms: number): void =>
      void (timer = clock.setTimeout(() => {
        passedMs += ms;
        if (progress.bytes < (passedMs / 1_000) * minBytesPerSecond)
          give({ code: "request_timeout" });
        else checkIn(checkMs);
      }, ms));
    checkIn(graceMs);
  });
  try {
    return await Promise.race([tooSlow, collectBody(request, options, progress)]);
  } finally {
    progress.isAnswered = true;
    clock.clearTimeout(timer);
  }
}

async function collectBody(
  request: IncomingMessage,
  { most, take }: BodyOptions,
  progress: BodyProgress,
): Promise<Buffer | Rejection | undefined> {
  const type = (request.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
  if (type !== "application/json") return { code: "unsupported_media_type" };
  if (Number(request.headers["content-length"] ?? 0) > most) return { code: "body_too_large" };
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      if (progress.isAnswered) return undefined;
      progress.bytes += (chunk as Buffer).byteLength;
      if (progress.bytes > most) return { code: "body_too_large" };
      if (!take((chunk as Buffer).byteLength)) return busyRejection;
      chunks.push(chunk as Buffer);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

export interface PostMessageOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  readonly connections: ConnectionRegistry;
  readonly gate: Pick<AdmissionControl, "expired">;
  readonly sessions: SessionLog;
  readonly newId: () => string;
  readonly isBusy: (session: string) => boolean;
  /** Of all that is sent and not accepted. */
  readonly budget: MemoryBudget;
  readonly deliver: (
    message: InboundMessage,
    options: { dedupe: boolean },
  ) => Promise<DeliveryStatus>;
}

type DeliveryStatus = "accepted" | "duplicate";

/** Somebody who waits, `seconds` long, for what the session hears. */
interface ReplyWait {
  readonly seconds: number;
  readonly r: ServerResponse;
  readonly tokenVersion: number | undefined;
}

/** Of a posted message. */
interface MessageIds {
  readonly request_id: string;
  readonly session_id: string;
}

/** The share of one body. */
function createBodyBudget({ take, give }: MemoryBudget): {
  take(bytes: number): boolean;
  giveBack(): void;
} {
  let bytes = 0;
  return {
    take(more) {
      const fits = take(more);
      if (fits) bytes += more;
      return fits;
    },
    giveBack() {
      give(bytes);
      bytes = 0;
    },
  };
}

type PostHandler = (
  handshakeRequest: HandshakeRequest,
  response: ServerResponse,
  admission: Admission,
) => Promise<JsonResponse | Rejection | undefined>;

/** A message by plain HTTP, and, for those who wait, what the session hears after it. */
export function createPostHandler(options: PostMessageOptions): PostHandler {
  const { clock, log, config, connections, gate, sessions, newId, deliver, isBusy, budget } =
    options;
  const allowed = createKeyedBuckets(messageRateOf(config));

  /** Rejects with why the application did not take it. */
  function hand(
    { id, payload }: MessageRequest,
    { request_id, session_id: session }: MessageIds,
  ): Promise<DeliveryStatus> {
    const { content, media, hops } = payload;
    const message = {
      channel: "pico",
      session,
      id: request_id,
      content,
      media: toChannelMedia(media),
      at: clock.now(),
      hops,
    };
    return deliver(message, { dedupe: id !== undefined });
  }

  /** Begins to hear the session, hands the message over, and answers with what came. */
  async function waitFor(
    handOver: () => Promise<DeliveryStatus>,
    messageIds: MessageIds,
    { seconds, r, tokenVersion }: ReplyWait,
  ): Promise<JsonResponse | Rejection> {
    const { session_id: session, request_id: request } = messageIds;
    const id = newId();
    const waiting = waitForReply({
      r,
      id,
      request,
      session,
      seconds,
      tokenVersion,
      sessions,
      clock,
      isBusy,
    });
    connections.add(waiting.link);
    try {
      const handed = handOver();
      const outcome = await Promise.race([handed, waiting.over]);
      if (outcome === "ended" || outcome === "late") handed.catch(refused); // nobody hears of it but the log
      if (outcome === "ended") return { code: "unavailable" };
      const answers = await waiting.answers();
      const body = { status: outcome === "late" ? "pending" : outcome, ...messageIds };
      return answers.messages.length === 0
        ? { status: 202, body }
        : { status: 200, body: { ...body, ...answers } };
    } finally {
      waiting.stop();
      connections.remove(waiting.link);
    }
  }

  function refused(error: unknown): Rejection {
    if (error instanceof WireError) return { code: error.code, message: error.message };
    const refusal = toMessageError(error);
    if (refusal.code === "internal")
      log.error({ err: error }, "a posted message could not be processed");
    return refusal;
  }

  return async (handshakeRequest, response, admission) => {
    const { q, peer, params } = handshakeRequest;
    if (!allowed(peer.key, clock.now()))
      return { code: "rate_limited", message: messageErrors.rate_limited.message };
    const seconds = readWait(params);
    if (seconds === undefined) {
      return {
        code: "invalid_message",
        message: `wait is a number of seconds, at most ${maxWaitSeconds}.`,
      };
    }
    const room = createBodyBudget(budget);
    let isHanded = false;
    try {
      const body = await readBody(q, { most: config().max_payload, clock, take: room.take });
      if (body === undefined || "code" in body) return body;
      const expired = gate.expired(handshakeRequest, admission);
      if (expired) return expired;
      if (seconds > 0 && connections.count() >= config().max_connections)
        return { code: "too_many_connections" };
      const request = decodeRequest(body);
      const names = {
        request_id: request.id ?? newId(),
        session_id: request.session_id ?? newId(),
      };
      const handOver = (): Promise<DeliveryStatus> => {
        isHanded = true;
        return hand(request, names).finally(room.giveBack);
      };
      if (seconds > 0)
        return await waitFor(handOver, names, {
          seconds,
          r: response,
          tokenVersion: admission.version,
        });
      return { status: 202, body: { status: await handOver(), ...names } };
    } catch (error) {
      return refused(error);
    } finally {
      if (!isHanded) room.giveBack();
    }
  };
}
