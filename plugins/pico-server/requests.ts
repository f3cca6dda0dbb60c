import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock, Log } from "../../kernel/index.ts";
import type { Incoming } from "../channels/index.ts";
import type { Http } from "../http/index.ts";
import { decodeRequest, limits, WireError } from "../pico-wire/index.ts";
import { answerJson, corsHeaders, preflightHeaders } from "./answers.ts";
import { readBody } from "./body.ts";
import { messageRate, type PicoServerConfig } from "./config.ts";
import type { Connections } from "./connections.ts";
import { isRefusal, type Gate } from "./gate.ts";
import { errorCodeFor } from "./inbound.ts";
import { readKnock, type Knock } from "./knock.ts";
import { createBuckets } from "./rates.ts";
import { write, type Refusal } from "./refusals.ts";

export interface RequestOptions {
  readonly http: Http;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  readonly connections: Pick<Connections, "count">;
  readonly newId: () => string;
  readonly deliver: (message: Incoming, options: { dedupe: boolean }) => Promise<"accepted" | "duplicate">;
  readonly refused: (knock: Knock, refusal: Refusal) => void;
}

interface Answer {
  readonly status: number;
  readonly body: object;
}
/** Undefined: nobody is there to be answered. */
type Outcome = Answer | Refusal | undefined;

const methods: Readonly<Record<string, readonly string[]>> = {
  "/pico": ["GET", "HEAD"],
  "/pico/ws": ["GET", "HEAD"],
  "/pico/messages": ["POST"],
};

/** The channel over plain HTTP: the probe, posted messages, and what else is asked under `/pico`. */
export function createRequests(options: RequestOptions): (q: IncomingMessage, r: ServerResponse) => Promise<void> {
  const { http, gate, clock, log, config } = options;
  const allowed = createBuckets(() => messageRate(config()));

  const probe = (): Answer => {
    const { max_payload, max_connections, message_rate, message_burst, ping_interval, read_timeout } = config();
    const sizes = { max_payload, content: limits.content, medium: limits.medium, outbound: limits.outboundFrame };
    return {
      status: 200,
      body: {
        protocol: "pico",
        version: 1,
        features: ["messages", "pico_ext"],
        limits: { ...sizes, max_connections, message_rate, message_burst, ping_interval, read_timeout },
        connections: options.connections.count(),
      },
    };
  };

  async function post({ q, peer }: Knock): Promise<Outcome> {
    if (!allowed(peer.key, clock.now())) return { code: "rate_limited", message: "Too many messages; slow down." };
    const body = await readBody(q, config().max_payload);
    if (body === undefined || "code" in body) return body;
    try {
      const { id, session_id = options.newId(), payload } = decodeRequest(body);
      const request_id = id ?? options.newId();
      const media = payload.media.map(({ type, base64 }) => ({ type, bytes: Buffer.from(base64, "base64") }));
      const { content, hops } = payload;
      const message = { channel: "pico", session: session_id, id: request_id, content, media, at: clock.now(), hops };
      const status = await options.deliver(message, { dedupe: id !== undefined });
      return { status: 202, body: { status, request_id, session_id } };
    } catch (error) {
      if (error instanceof WireError) return { code: error.code, message: error.message };
      const code = errorCodeFor(error);
      if (code === "internal") log.error({ err: error }, "a posted message could not be processed");
      return { code };
    }
  }

  async function serve(knock: Knock): Promise<Outcome> {
    const { path, q } = knock;
    const known = methods[path];
    const closed = gate.isServing(knock);
    if (!known || closed?.code === "not_found") return { code: "not_found" };
    if (q.method === "OPTIONS") return { status: 204, body: {} };
    if (closed) return closed;
    if (!known.includes(q.method ?? "")) return { code: "method_not_allowed", allow: [...known, "OPTIONS"].join(", ") };
    const admission = await gate.admit(knock, gate.offer(knock));
    if (isRefusal(admission)) return admission;
    if (!admission.isCurrent()) return { code: "token_mismatch" };
    if (path === "/pico/ws") return { code: "upgrade_required" };
    return path === "/pico" ? probe() : post(knock);
  }

  return async (q, r) => {
    const knock = readKnock(http, q, false);
    const cors = knock.origin !== undefined && gate.allowsOrigin(knock) ? corsHeaders(knock.origin) : {};
    const outcome = await serve(knock).catch((error: unknown): Refusal => {
      log.error({ err: error }, "a request failed");
      return { code: "internal" };
    });
    if (outcome === undefined) return;
    if ("code" in outcome) {
      const { status, body, headers } = write(outcome);
      options.refused(knock, outcome);
      return answerJson(r, status, body, { ...headers, ...cors, ...(q.complete ? {} : { Connection: "close" }) });
    }
    if (outcome.status !== 204) return answerJson(r, outcome.status, outcome.body, cors);
    r.writeHead(204, { ...cors, ...("Access-Control-Allow-Origin" in cors ? preflightHeaders : {}) });
    r.end();
  };
}
