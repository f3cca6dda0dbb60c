import type { ServerResponse } from "node:http";
import type { Clock, Log } from "../../kernel/index.ts";
import type { Incoming } from "../channels/index.ts";
import {
  decodeRequest,
  errors,
  WireError,
  type MessageRequest,
} from "../../lib/pico-wire/index.ts";
import type { Answer } from "./answers.ts";
import { readBody } from "./body.ts";
import type { Budget } from "./budget.ts";
import { rateOf, type PicoServerConfig } from "./config.ts";
import type { Connections } from "./connections.ts";
import type { Admission, Gate } from "./gate.ts";
import { refusalFor } from "./failures.ts";
import type { Knock } from "./knock.ts";
import { mediaOf } from "./media.ts";
import { createBuckets } from "./rates.ts";
import type { Refusal } from "./refusals.ts";
import type { SessionLog } from "./session-log.ts";
import { mostWaitSeconds, readWait, waitForAnswers } from "./waiting.ts";

export interface PostingOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  readonly connections: Connections;
  readonly gate: Pick<Gate, "expired">;
  readonly sessions: SessionLog;
  readonly newId: () => string;
  readonly isBusy: (session: string) => boolean;
  /** Of all that is sent and not accepted. */
  readonly budget: Budget;
  readonly deliver: (message: Incoming, options: { dedupe: boolean }) => Promise<Status>;
}

type Status = "accepted" | "duplicate";

/** Somebody who waits, `seconds` long, for what the session hears. */
interface Patience {
  readonly seconds: number;
  readonly r: ServerResponse;
  readonly tokenVersion: number | undefined;
}

/** Of a posted message. */
interface Names {
  readonly request_id: string;
  readonly session_id: string;
}

/** The share of one body. */
function createRoom({ take, give }: Budget): { take(bytes: number): boolean; giveBack(): void } {
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

type Post = (
  knock: Knock,
  r: ServerResponse,
  admission: Admission,
) => Promise<Answer | Refusal | undefined>;

/** A message by plain HTTP, and, for those who wait, what the session hears after it. */
export function createPosting(options: PostingOptions): Post {
  const { clock, log, config, connections, gate, sessions, newId, deliver, isBusy, budget } =
    options;
  const allowed = createBuckets(rateOf(config));

  /** Rejects with why the application did not take it. */
  function hand(
    { id, payload }: MessageRequest,
    { request_id, session_id: session }: Names,
  ): Promise<Status> {
    const { content, media, hops } = payload;
    const message = {
      channel: "pico",
      session,
      id: request_id,
      content,
      media: mediaOf(media),
      at: clock.now(),
      hops,
    };
    return deliver(message, { dedupe: id !== undefined });
  }

  /** Begins to hear the session, hands the message over, and answers with what came. */
  async function waitFor(
    handOver: () => Promise<Status>,
    names: Names,
    { seconds, r, tokenVersion }: Patience,
  ): Promise<Answer | Refusal> {
    const { session_id: session, request_id: request } = names;
    const id = newId();
    const waiting = waitForAnswers({
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

  function refused(error: unknown): Refusal {
    if (error instanceof WireError) return { code: error.code, message: error.message };
    const refusal = refusalFor(error);
    if (refusal.code === "internal")
      log.error({ err: error }, "a posted message could not be processed");
    return refusal;
  }

  return async (knock, r, admission) => {
    const { q, peer, params } = knock;
    if (!allowed(peer.key, clock.now()))
      return { code: "rate_limited", message: errors.rate_limited.message };
    const seconds = readWait(params);
    if (seconds === undefined) {
      return {
        code: "invalid_message",
        message: `wait is a number of seconds, at most ${mostWaitSeconds}.`,
      };
    }
    const room = createRoom(budget);
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
      const handOver = (): Promise<Status> => {
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
