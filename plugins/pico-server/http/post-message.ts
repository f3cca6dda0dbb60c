// POST /pico/messages: delivers one message and, with ?wait=, responds with the replies to it.
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  WireError,
  decodeRequest,
  messageErrors,
  type MessageRequest,
  type SkippedAttachment,
} from "../../../lib/pico-wire/index.ts";
import type { InboundMessage, Sender } from "../../channels/index.ts";
import type { RuntimeContext } from "../connection/context.ts";
import type { ConnectionRegistry } from "../connection/registry.ts";
import type { Admission, AdmissionControl } from "../handshake/admission.ts";
import {
  forbiddenBy,
  knowsToken,
  resolveSession,
  sessionForbidden,
} from "../handshake/identity.ts";
import type { Rejection } from "../handshake/rejection.ts";
import type { HandshakeRequest } from "../handshake/request.ts";
import type { RecentEnds } from "../session/channel-adapter.ts";
import { tokenSessionMessage, type SessionGuard } from "../session/session-guard.ts";
import { toChannelMedia, toMessageError } from "../session/channel-adapter.ts";
import type { FoundFiles, MessageFiles } from "../session/message-files.ts";
import type { SessionLog } from "../../conversations/index.ts";
import { bodyType, readBody as readBytes, type BodyOptions } from "../../http/kit.ts";
import type { BodyMemory } from "./body-memory.ts";
import { maxWaitSeconds, readWait, ReplyWaiter } from "./wait-for-reply.ts";

export interface JsonResponse {
  readonly status: number;
  readonly body: object;
  /** Headers of a response without a body. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent instead if too many large responses are unread. */
  readonly smaller?: JsonResponse;
}

/** Decides which requests are served. */
export interface AccessContext<Control> {
  readonly admissionControl: Control;
  readonly sessionGuard: Pick<SessionGuard, "check">;
}

/** The way of posted messages to the application. */
interface PostDelivery {
  readonly isBusy: (session: string) => boolean;
  /** Limits the bytes of all messages that the application has not accepted. */
  readonly body: () => BodyMemory;
  readonly deliver: (
    message: InboundMessage,
    options: { dedupe: boolean },
  ) => Promise<DeliveryStatus>;
}

export interface PostMessageOptions {
  /** Counts one request of an address. Returns `false` beyond `message_rate`. */
  readonly isWithinRate: (key: string, now: number) => boolean;
  readonly runtime: RuntimeContext;
  readonly access: AccessContext<Pick<AdmissionControl, "expired">>;
  readonly delivery: PostDelivery;
  readonly connections: ConnectionRegistry;
  readonly sessions: SessionLog;
  readonly files: MessageFiles;
  readonly ends: Pick<RecentEnds, "watch">;
}

const busyMessage = "Too many messages wait for the application. Try again shortly.";

/** @returns The body, the reason to reject it, or undefined if the client closed the connection. */
export async function readBody(
  request: IncomingMessage,
  options: BodyOptions,
): Promise<Buffer | Rejection | undefined> {
  if (bodyType(request) !== "application/json") return { code: "unsupported_media_type" };
  const body = await readBytes(request, options);
  if (typeof body !== "string") return body;
  return body === "busy" ? { code: body, message: busyMessage } : { code: body };
}

type DeliveryStatus = "accepted" | "duplicate";

/** The wait for replies, at most `seconds` long. */
interface ReplyWait {
  readonly seconds: number;
  readonly response: ServerResponse;
  readonly admission: Admission;
}

/** The part of the response that identifies the message. */
interface MessageIds {
  readonly request_id: string;
  readonly session_id: string;
  /** Attachments that the application does not receive. */
  readonly skipped?: readonly SkippedAttachment[];
}

export class MessagePoster {
  private readonly options: PostMessageOptions;

  constructor(options: PostMessageOptions) {
    this.options = options;
  }

  /** @returns The response, or undefined if the client has closed the connection. */
  async post(
    handshakeRequest: HandshakeRequest,
    response: ServerResponse,
    admission: Admission,
  ): Promise<JsonResponse | Rejection | undefined> {
    const { runtime, access, delivery, connections } = this.options;
    const { config, clock, newId } = runtime;
    const { admissionControl } = access;
    const { request, peer, params } = handshakeRequest;
    if (!this.options.isWithinRate(peer.key, clock.now()))
      return { code: "rate_limited", message: messageErrors.rate_limited.message };
    const seconds = readWait(params);
    if (seconds === undefined) {
      const message = `wait must be a number of seconds, at most ${maxWaitSeconds}.`;
      return { code: "invalid_message", message };
    }
    const unread = seconds > 0 ? forbiddenBy(admission, "read") : undefined;
    if (unread) return unread;
    const memory = delivery.body();
    let isDelivering = false;
    try {
      const body = await readBody(request, {
        maxBytes: config().max_payload,
        clock,
        reserve: memory.reserve,
      });
      memory.arrived();
      if (body === undefined || "code" in body) return body;
      const expired = admissionControl.expired(admission);
      if (expired) return expired;
      const message = decodeRequest(body);
      const session = resolveSession(admission, message.session_id, newId);
      if (session === undefined) return sessionForbidden(admission);
      const rejection =
        (await this.checkSession(message, session, knowsToken(admission))) ??
        admissionControl.expired(admission);
      if (rejection) return rejection;
      const { replaces } = message.payload;
      if (replaces !== undefined && !(await this.options.sessions.hasTurn(session, replaces)))
        return { code: "unknown_turn", message: messageErrors.unknown_turn.message };
      const files = await this.options.files.claim(session, message.payload.media);
      if (seconds > 0 && connections.count() >= config().max_connections)
        return { code: "too_many_connections" };
      const { skipped } = message.payload;
      const ids = {
        request_id: message.id ?? newId(),
        session_id: session,
        ...(skipped && { skipped }),
      };
      const deliver = (): Promise<DeliveryStatus> => {
        isDelivering = true;
        const delivered = this.deliver(message, ids, admission.sender, files);
        return delivered.finally(() => memory.release());
      };
      if (seconds === 0) return { status: 202, body: { status: await deliver(), ...ids } };
      return await this.deliverAndWait(deliver, ids, { seconds, response, admission });
    } catch (error) {
      return this.toRejection(error);
    } finally {
      if (!isDelivering) memory.release();
    }
  }

  private async checkSession(
    { session_id: name }: MessageRequest,
    session: string,
    knowsToken: boolean,
  ): Promise<Rejection | undefined> {
    if (name === undefined) return undefined;
    const rejection = await this.options.access.sessionGuard.check(session, knowsToken);
    return rejection?.code === "invalid_session_id"
      ? { code: "invalid_message", message: tokenSessionMessage }
      : rejection;
  }

  /** Rejects with the error of the application. */
  private deliver(
    { id, payload }: MessageRequest,
    { request_id, session_id: session }: MessageIds,
    sender: Sender,
    files: FoundFiles,
  ): Promise<DeliveryStatus> {
    const { runtime, delivery } = this.options;
    const { content, media, hops, replaces } = payload;
    const message = {
      channel: "pico",
      session,
      id: request_id,
      content,
      media: toChannelMedia(media, files),
      sender,
      at: runtime.clock.now(),
      hops,
      ...(replaces !== undefined && { replaces }),
    };
    return delivery.deliver(message, { dedupe: id !== undefined });
  }

  /** Subscribes to the session before the delivery, so that no reply is missed. */
  private async deliverAndWait(
    deliver: () => Promise<DeliveryStatus>,
    ids: MessageIds,
    { seconds, response, admission }: ReplyWait,
  ): Promise<JsonResponse | Rejection> {
    const { connections, sessions, ends, runtime, delivery } = this.options;
    const { clock, newId } = runtime;
    const pending = new ReplyWaiter(
      { sessions, ends, clock, isBusy: delivery.isBusy },
      {
        response,
        id: newId(),
        request: ids.request_id,
        session: ids.session_id,
        seconds,
        admission,
      },
    );
    connections.add(pending.peer);
    try {
      await pending.subscribed;
      const accepted = deliver();
      const outcome = await Promise.race([accepted, pending.ended]);
      // The client has its response already, so a later failure is only logged.
      if (outcome !== "accepted" && outcome !== "duplicate")
        accepted.catch((error) => this.toRejection(error));
      if (outcome === "closed") return { code: "unavailable" };
      const { question, ...replies } = await pending.replies();
      const isPending = outcome === "timed_out" || outcome === "asked" || question !== undefined;
      const status = isPending ? "pending" : outcome;
      const body = { status, ...ids, ...(question && { question }) };
      const smaller = { status: 202, body };
      return replies.messages.length === 0
        ? smaller
        : { status: 200, body: { ...body, ...replies }, smaller };
    } finally {
      pending.stop();
      connections.remove(pending.peer);
    }
  }

  private toRejection(error: unknown): Rejection {
    if (error instanceof WireError) return { code: error.code, message: error.message };
    const rejection = toMessageError(error);
    if (rejection.code === "internal")
      this.options.runtime.log.error({ err: error }, "Posted message could not be processed");
    return rejection;
  }
}
