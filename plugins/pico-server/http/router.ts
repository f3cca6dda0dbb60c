import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock, Log } from "../../../kernel/index.ts";
import { isSessionId, limits, parseCursor, type Cursor } from "../../../lib/pico-wire/index.ts";
import type { Http } from "../../http/index.ts";
import type { PicoServerConfig } from "../config.ts";
import { detachString, type ConnectionRegistry } from "../connection/registry.ts";
import { isRejection, type Admission, type AdmissionControl } from "../handshake/admission.ts";
import { corsHeaders } from "../handshake/origins.ts";
import { toHttpRejection, type Rejection } from "../handshake/rejection.ts";
import { parseHandshakeRequest, type HandshakeRequest } from "../handshake/request.ts";
import type { SessionLog } from "../session/session-log.ts";
import { createPostHandler, type PostMessageOptions } from "./post-message.ts";

export interface JsonResponse {
  readonly status: number;
  readonly body: object;
}

export const preflightHeaders = {
  "Access-Control-Allow-Methods": "GET, HEAD, POST",
  "Access-Control-Allow-Headers": "authorization, content-type, last-event-id",
  "Access-Control-Max-Age": "600",
} as const;

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>>,
): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "Cache-Control": "no-store",
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/** An event stream that may begin. */
export interface EventStreamRequest {
  readonly session: string;
  readonly after: Cursor | undefined;
}

export interface RouterOptions extends PostMessageOptions {
  readonly http: Http;
  readonly gate: AdmissionControl;
  readonly clock: Clock;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  readonly connections: ConnectionRegistry;
  readonly sessions: SessionLog;
  readonly refused: (handshakeRequest: HandshakeRequest, rejection: Rejection) => void;
  /** The answer is an event stream from now on. */
  readonly listens: (
    eventStreamRequest: EventStreamRequest,
    response: ServerResponse,
    headers: HeaderMap,
    handshakeRequest: HandshakeRequest,
    from: Admission,
  ) => void;
}

const missingSessionMessage = "The address names no session: add ?session_id= and its name.";
const missingUpgradeMessage =
  "This began as a WebSocket handshake and came without Upgrade: a proxy on the way removes it.";

export type HeaderMap = Readonly<Record<string, string>>;
interface AcceptedStream {
  readonly listen: EventStreamRequest;
  readonly admission: Admission;
}
/** Undefined: nobody is there to be answered. */
type RouteResult = JsonResponse | Rejection | AcceptedStream | undefined;

const allowedMethods: Readonly<Record<string, readonly string[]>> = {
  "/pico": ["GET", "HEAD"],
  "/pico/ws": ["GET", "HEAD"],
  "/pico/messages": ["POST"],
  "/pico/events": ["GET"],
};

/** The channel over plain HTTP: the probe, posted messages, event streams, and what else is asked under `/pico`. */
export function createRouter(
  options: RouterOptions,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { http, gate, log, config, connections } = options;
  const post = createPostHandler(options);

  const probe = (): JsonResponse => {
    const {
      max_payload,
      max_connections,
      message_rate,
      message_burst,
      ping_interval,
      read_timeout,
    } = config();
    const sizes = {
      max_payload,
      content: limits.content,
      medium: limits.medium,
      outbound: limits.outboundFrame,
    };
    return {
      status: 200,
      body: {
        protocol: "pico",
        version: 1,
        features: ["messages", "events", "wait", "pico_ext"],
        limits: {
          ...sizes,
          max_connections,
          message_rate,
          message_burst,
          ping_interval,
          read_timeout,
        },
        connections: connections.count(),
      },
    };
  };

  function listen({ params, q }: HandshakeRequest, admission: Admission): RouteResult {
    const [session = "", ...more] = params.getAll("session_id");
    if (session === "") return { code: "invalid_session_id", message: missingSessionMessage };
    if (more.length > 0 || !isSessionId(session)) return { code: "invalid_session_id" };
    const last = q.headers["last-event-id"];
    const after = typeof last === "string" && last !== "" ? parseCursor(last) : undefined;
    if (last && !after)
      return { code: "bad_handshake", message: "Last-Event-ID is EPOCH:SEQ, as an event had it." };
    return { listen: { session: detachString(session), after }, admission };
  }

  /** What is left when a stream is to begin. Nothing else runs from here to its beginning: a free slot stays free. */
  function fault(
    handshakeRequest: HandshakeRequest,
    { admission }: AcceptedStream,
  ): Rejection | undefined {
    const isFree = connections.count() < config().max_connections;
    return (
      gate.expired(handshakeRequest, admission) ??
      (isFree ? undefined : { code: "too_many_connections" })
    );
  }

  async function serve(
    handshakeRequest: HandshakeRequest,
    response: ServerResponse,
  ): Promise<RouteResult> {
    const { path, q } = handshakeRequest;
    const known = allowedMethods[path];
    const closed = gate.isServing(handshakeRequest);
    if (!known || closed?.code === "not_found") return { code: "not_found" };
    if (q.method === "OPTIONS") return { status: 204, body: {} };
    if (closed) return closed;
    if (!known.includes(q.method ?? ""))
      return { code: "method_not_allowed", allow: [...known, "OPTIONS"].join(", ") };
    const admission = await gate.admit(handshakeRequest, gate.offer(handshakeRequest));
    if (isRejection(admission)) return admission;
    const expired = gate.expired(handshakeRequest, admission);
    if (expired) return expired;
    if (path === "/pico/ws") return { code: "upgrade_required" };
    if (q.headers["sec-websocket-key"] !== undefined)
      return { code: "upgrade_required", message: missingUpgradeMessage };
    if (path === "/pico/events") return listen(handshakeRequest, admission);
    return path === "/pico" ? probe() : post(handshakeRequest, response, admission);
  }

  return async (request, response) => {
    const handshakeRequest = parseHandshakeRequest(http, request, false);
    const cors =
      handshakeRequest.origin !== undefined && gate.allowsOrigin(handshakeRequest)
        ? corsHeaders(handshakeRequest.origin)
        : {};
    const found = await serve(handshakeRequest, response).catch((error: unknown): Rejection => {
      log.error({ err: error }, "a request failed");
      return { code: "internal" };
    });
    if (found === undefined || response.destroyed) return;
    const outcome = "listen" in found ? (fault(handshakeRequest, found) ?? found) : found;
    if ("listen" in outcome)
      return options.listens(outcome.listen, response, cors, handshakeRequest, outcome.admission);
    if ("code" in outcome) {
      const { status, body, headers } = toHttpRejection(outcome);
      options.refused(handshakeRequest, outcome);
      return sendJson(response, status, body, {
        ...headers,
        ...cors,
        ...(request.complete ? {} : { Connection: "close" }),
      });
    }
    if (outcome.status !== 204) return sendJson(response, outcome.status, outcome.body, cors);
    response.writeHead(204, {
      ...cors,
      ...("Access-Control-Allow-Origin" in cors ? preflightHeaders : {}),
    });
    response.end();
  };
}
