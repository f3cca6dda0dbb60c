// Routes plain HTTP requests under /pico: the probe, posted messages and event streams.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Release } from "../../../kernel/index.ts";
import { limits, parseCursor, type Cursor } from "../../../lib/pico-wire/index.ts";
import type { Http, Permission } from "../../http/index.ts";
import { detachString } from "../connection/registry.ts";
import {
  corsHeadersFor,
  isRejection,
  type Admission,
  type AdmissionControl,
} from "../handshake/admission.ts";
import { forbiddenBy, sessionOfUrl } from "../handshake/identity.ts";
import { toHttpRejection, type Rejection } from "../handshake/rejection.ts";
import { parseHandshakeRequest, type HandshakeRequest } from "../handshake/request.ts";
import type { RecentEnds } from "../session/channel-adapter.ts";
import { createHistoryHandler, type HistoryOptions } from "./history.ts";
import { createKeyedBuckets } from "../connection/rate-limit.ts";
import { readFeatures, type Features } from "../session/features.ts";
import {
  MessagePoster,
  type AccessContext,
  type JsonResponse,
  type PostMessageOptions,
} from "./post-message.ts";
import {
  createAnswerHandler,
  createStopHandler,
  type SessionPostOptions,
} from "./post-in-session.ts";
import { fileIdOf, MediaRoutes } from "./media.ts";
import type { MediaFiles } from "../../media/index.ts";
import { retryLargeSeconds, sendJson, sendLargeJson } from "../../http/kit.ts";

const preflightHeaders = {
  "Access-Control-Allow-Methods": "GET, HEAD, POST, PATCH, DELETE",
  "Access-Control-Allow-Headers":
    "authorization, content-type, content-disposition, x-doorward-sha256, range, if-range, " +
    "last-event-id, tus-resumable, upload-length, upload-metadata, upload-offset, " +
    "x-http-method-override",
  "Access-Control-Max-Age": "600",
} as const;

export interface EventStreamRequest {
  readonly session: string;
  readonly after: Cursor | undefined;
  readonly features: Features;
  /** The stream begins with `hello`. */
  readonly greets: boolean;
  /** Reserves memory for frames that are replayed, as `Http.holdResponse` does. */
  readonly hold: (bytes: number) => Release | undefined;
}

interface RouterOptions extends Omit<PostMessageOptions, "isWithinRate"> {
  readonly http: Http;
  /** First part of the addresses. */
  readonly entrance: "pico" | "keys";
  readonly delivery: PostMessageOptions["delivery"] & SessionPostOptions["delivery"];
  readonly access: AccessContext<AdmissionControl>;
  readonly conversations: HistoryOptions["conversations"];
  readonly ends: Pick<RecentEnds, "watch" | "recent">;
  /** Undefined without the plugin `media`. */
  readonly media: MediaFiles | undefined;
  readonly reportRejection: (handshakeRequest: HandshakeRequest, rejection: Rejection) => void;
  /** Turns the response into an event stream. */
  readonly openStream: (
    stream: EventStreamRequest,
    response: ServerResponse,
    headers: HeaderMap,
    handshakeRequest: HandshakeRequest,
    admission: Admission,
  ) => void;
}

const unreadRejection: Rejection = {
  code: "busy",
  message: "Too many large responses are unread. Try again shortly.",
  retryAfterSeconds: retryLargeSeconds,
};
const missingUpgradeMessage =
  "The Upgrade header is missing. A proxy in front of Doorward probably removed it.";
const malformedEventIdMessage = "Last-Event-ID must be EPOCH:SEQ, the id of an event.";

export type HeaderMap = Readonly<Record<string, string>>;
interface AcceptedStream {
  readonly stream: Omit<EventStreamRequest, "hold">;
  readonly admission: Admission;
}
/** Undefined if the client has closed the connection. */
type RouteResult = JsonResponse | Rejection | AcceptedStream | undefined;

const allowedMethods: Readonly<Record<string, readonly string[]>> = {
  "/pico": ["GET", "HEAD"],
  "/pico/ws": ["GET", "HEAD"],
  "/pico/messages": ["POST"],
  "/pico/stop": ["POST"],
  "/pico/answer": ["POST"],
  // Pages without an encrypted connection prove their origin only with POST.
  "/pico/events": ["GET", "POST"],
  "/pico/history": ["GET"],
  "/pico/media": ["POST"],
};
const features: readonly string[] = ["messages", "events", "wait", "pico_ext", "history"];
const isMediaPath = (path: string): boolean => /^\/pico\/media(\/|$)/.test(path);

/** A resumable upload has further methods; `POST` overrides them behind some proxies. */
const fileMethodsOf = (isUpload: boolean): readonly string[] =>
  isUpload ? ["GET", "HEAD", "POST", "PATCH", "DELETE"] : ["GET", "HEAD"];

const isHandshake = ({ headers }: IncomingMessage): boolean =>
  headers["sec-websocket-key"] !== undefined;

/** A sign-in counts for handshakes only: without `Upgrade`, the token seems to be missing. */
const lostUpgrade = (request: IncomingMessage, { code }: Rejection): Rejection | undefined =>
  code === "token_missing" && isHandshake(request)
    ? { code: "upgrade_required", message: missingUpgradeMessage }
    : undefined;

/** @returns The right that a request needs. A stop needs one of two, which its handler checks. */
function rightOf(path: string, method: string | undefined): Permission | undefined {
  if (path === "/pico/stop" || path === "/pico") return undefined;
  if (path === "/pico/answer") return "answer";
  const isWrite = path === "/pico/messages" || (path === "/pico/media" && method === "POST");
  return isWrite ? "write" : "read";
}

/** Handles the probe, posted messages and event streams, and rejects all other requests. */
export class PicoRouter {
  private readonly options: RouterOptions;
  private readonly poster: MessagePoster;
  private readonly history: ReturnType<typeof createHistoryHandler>;
  private readonly stop: ReturnType<typeof createStopHandler>;
  private readonly media: MediaRoutes;
  private readonly answer: ReturnType<typeof createAnswerHandler>;

  constructor(options: RouterOptions) {
    this.options = options;
    const { conversations, runtime } = options;
    const isWithinRate = createKeyedBuckets(runtime.config);
    this.poster = new MessagePoster({ ...options, isWithinRate });
    this.stop = createStopHandler({ ...options, isWithinRate });
    this.media = new MediaRoutes({ ...options, isWithinRate });
    this.answer = createAnswerHandler({ ...options, isWithinRate });
    this.history = createHistoryHandler({ conversations, newId: runtime.newId });
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { http, access, runtime } = this.options;
    const handshakeRequest = parseHandshakeRequest(http, request, false);
    const cors = corsHeadersFor(access.admissionControl, handshakeRequest);
    const route = this.route(handshakeRequest, response, cors);
    const result = await route.catch((error: unknown): Rejection => {
      runtime.log.error({ err: error }, "Request failed");
      return { code: "internal" };
    });
    if (result === undefined || response.destroyed) return;
    if (!("stream" in result)) return this.respond(handshakeRequest, response, result, cors);
    const rejection = this.checkStream(result.admission);
    if (rejection) return this.respond(handshakeRequest, response, rejection, cors);
    const hold = (bytes: number): Release | undefined => http.holdResponse(response, bytes);
    const stream = { ...result.stream, hold };
    this.options.openStream(stream, response, cors, handshakeRequest, result.admission);
  }

  private async route(
    handshakeRequest: HandshakeRequest,
    response: ServerResponse,
    cors: HeaderMap,
  ): Promise<RouteResult> {
    const { admissionControl } = this.options.access;
    const { path, request } = handshakeRequest;
    const file = fileIdOf(path);
    const isUpload = isMediaPath(path) && this.media.isResumable(request);
    const methods = file === undefined ? allowedMethods[path] : fileMethodsOf(isUpload);
    const closed = admissionControl.isServing();
    if (!methods || closed?.code === "not_found") return { code: "not_found" };
    if (request.method === "OPTIONS")
      return { status: 204, body: {}, headers: this.optionsOf(path) };
    if (closed) return closed;
    if (!methods.includes(request.method ?? ""))
      return { code: "method_not_allowed", allow: [...methods, "OPTIONS"].join(", ") };
    const credentials = admissionControl.credentials(handshakeRequest);
    const admission = await admissionControl.admit(handshakeRequest, credentials);
    if (isRejection(admission)) return lostUpgrade(request, admission) ?? admission;
    const expired = admissionControl.expired(admission);
    if (expired) return expired;
    if (path === "/pico/ws") return { code: "upgrade_required" };
    if (isHandshake(request)) return { code: "upgrade_required", message: missingUpgradeMessage };
    const right = isUpload ? "write" : rightOf(path, request.method);
    const forbidden = right && forbiddenBy(admission, right);
    if (forbidden) return forbidden;
    if (isUpload) return this.media.resume(file, handshakeRequest, admission, response, cors);
    if (file !== undefined)
      return this.media.download(file, handshakeRequest, admission, response, cors);
    if (path === "/pico/media") return this.media.upload(handshakeRequest, admission);
    if (path === "/pico/history") return this.history(handshakeRequest, admission);
    if (path === "/pico/events") return this.requestStream(handshakeRequest, admission);
    if (path === "/pico/stop") return this.stop(handshakeRequest, admission);
    if (path === "/pico/answer") return this.answer(handshakeRequest, admission);
    return path === "/pico"
      ? this.describe()
      : this.poster.post(handshakeRequest, response, admission);
  }

  /** Headers about resumable uploads. */
  private optionsOf(path: string): HeaderMap {
    return isMediaPath(path) ? this.media.resumableHeaders() : {};
  }

  private describe(): JsonResponse {
    const { runtime, connections, media } = this.options;
    const config = runtime.config();
    const { max_payload, max_connections, message_rate, message_burst } = config;
    const { ping_interval, read_timeout } = config;
    return {
      status: 200,
      body: {
        protocol: "pico",
        version: 1,
        features: [...features, ...(media ? ["media"] : [])],
        limits: {
          max_payload,
          content: limits.content,
          medium: limits.medium,
          ...(media && { file: media.maxFileBytes() }),
          outbound: limits.outboundFrame,
          max_connections,
          message_rate,
          message_burst,
          ping_interval,
          read_timeout,
        },
        connections: connections.count(),
      },
    };
  }

  private async requestStream(
    { params, request }: HandshakeRequest,
    admission: Admission,
  ): Promise<AcceptedStream | Rejection> {
    const { access, runtime } = this.options;
    const session = await sessionOfUrl(params, admission, runtime.newId, access.sessionGuard);
    if (typeof session !== "string") return session;
    const lastId = request.headers["last-event-id"];
    const after = typeof lastId === "string" && lastId !== "" ? parseCursor(lastId) : undefined;
    if (lastId && !after) return { code: "bad_handshake", message: malformedEventIdMessage };
    const features = readFeatures(params);
    const greets = params.get("pico_ext") === "1";
    return { stream: { session: detachString(session), after, features, greets }, admission };
  }

  /** The caller opens the stream in the same turn, so no other request can take the free slot. */
  private checkStream(admission: Admission): Rejection | undefined {
    const { access, connections, runtime } = this.options;
    const hasFreeSlot = connections.count() < runtime.config().max_connections;
    return (
      access.admissionControl.expired(admission) ??
      (hasFreeSlot ? undefined : { code: "too_many_connections" })
    );
  }

  private respond(
    handshakeRequest: HandshakeRequest,
    response: ServerResponse,
    result: JsonResponse | Rejection,
    cors: HeaderMap,
  ): void {
    if ("code" in result) {
      const { status, body, headers } = toHttpRejection(result);
      this.options.reportRejection(handshakeRequest, result);
      return sendJson(response, status, body, {
        ...headers,
        ...cors,
        ...(handshakeRequest.request.complete ? {} : { Connection: "close" }),
      });
    }
    if (result.status === 200) {
      if (sendLargeJson(this.options.http, response, result.body, cors)) return;
      const { smaller = unreadRejection } = result;
      return this.respond(handshakeRequest, response, smaller, cors);
    }
    if (result.status !== 204) {
      const isNotStored = "error" in result.body && result.body.error === "not_stored";
      const wait = isNotStored ? { "Retry-After": "5" } : {};
      return sendJson(response, result.status, result.body, { ...cors, ...wait });
    }
    const preflight = "Access-Control-Allow-Origin" in cors ? preflightHeaders : {};
    response.writeHead(204, { ...result.headers, ...cors, ...preflight });
    response.end();
  }
}
