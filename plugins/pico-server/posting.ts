import type { ServerResponse } from "node:http";
import type { Clock, Log } from "../../kernel/index.ts";
import type { InboundMessage } from "../channels/index.ts";
import {
  decodeRequest,
  messageErrors,
  WireError,
  type MessageRequest,
} from "../../lib/pico-wire/index.ts";
import type { JsonResponse } from "./answers.ts";
import { readBody } from "./body.ts";
import type { MemoryBudget } from "./budget.ts";
import { messageRateOf, type PicoServerConfig } from "./config.ts";
import type { ConnectionRegistry } from "./connections.ts";
import type { Admission, AdmissionControl } from "./gate.ts";
import { toMessageError } from "./failures.ts";
import type { HandshakeRequest } from "./knock.ts";
import { toChannelMedia } from "./media.ts";
import { createKeyedBuckets } from "./rates.ts";
import type { Rejection } from "./refusals.ts";
import type { SessionLog } from "./session-log.ts";
import { maxWaitSeconds, readWait, waitForReply } from "./waiting.ts";

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
  knock: HandshakeRequest,
  r: ServerResponse,
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
    names: MessageIds,
    { seconds, r, tokenVersion }: ReplyWait,
  ): Promise<JsonResponse | Rejection> {
    const { session_id: session, request_id: request } = names;
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
      const body = { status: outcome === "late" ? "pending" : outcome, ...names };
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

  return async (knock, r, admission) => {
    const { q, peer, params } = knock;
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
      const expired = gate.expired(knock, admission);
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
        return await waitFor(handOver, names, { seconds, r, tokenVersion: admission.version });
      return { status: 202, body: { status: await handOver(), ...names } };
    } catch (error) {
      return refused(error);
    } finally {
      if (!isHanded) room.giveBack();
    }
  };
}
