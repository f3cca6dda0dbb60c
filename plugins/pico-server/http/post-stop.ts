// POST /pico/stop: stops messages of a session, for clients without a WebSocket.
import { WireError, decodeStopRequest, messageErrors } from "../../../lib/pico-wire/index.ts";
import type { ChannelHandle } from "../../channels/index.ts";
import type { Admission } from "../handshake/admission.ts";
import { resolveSession, sessionForbidden } from "../handshake/identity.ts";
import type { Rejection } from "../handshake/rejection.ts";
import type { HandshakeRequest } from "../handshake/request.ts";
import { toStoppedMessages } from "../session/mapping.ts";
import type { AccessContext, PostMessageOptions } from "./post-message.ts";
import { readBody } from "./read-body.ts";
import type { JsonResponse } from "./post-message.ts";

export interface StopOptions extends Pick<PostMessageOptions, "isWithinRate" | "runtime"> {
  readonly access: AccessContext<{
    expired(request: HandshakeRequest, admission: Admission): Rejection | undefined;
  }>;
  readonly delivery: { readonly stop: ChannelHandle["stop"] };
}

/** Two ids of 256 bytes fit, even if each byte is escaped. */
const maxBodyBytes = 8 * 1024;
const missingSession = 'The body has no session id. Add "session_id".';

type StopHandler = (
  handshakeRequest: HandshakeRequest,
  admission: Admission,
) => Promise<JsonResponse | Rejection | undefined>;

export function createStopHandler(options: StopOptions): StopHandler {
  const { runtime, access, delivery, isWithinRate } = options;
  const { clock, newId } = runtime;

  return async (handshakeRequest, admission) => {
    const { request, peer } = handshakeRequest;
    if (!isWithinRate(peer.key, clock.now()))
      return { code: "rate_limited", message: messageErrors.rate_limited.message };
    const body = await readBody(request, { maxBytes: maxBodyBytes, clock, reserve: () => true });
    if (body === undefined || "code" in body) return body;
    const expired = access.admissionControl.expired(handshakeRequest, admission);
    if (expired) return expired;
    try {
      const { session_id: name, request_id: id } = decodeStopRequest(body);
      if (name === undefined) return { code: "invalid_session_id", message: missingSession };
      const session = resolveSession(admission, name, newId);
      if (session === undefined) return sessionForbidden(admission);
      const stopped = toStoppedMessages(await delivery.stop(session, id, admission.sender));
      return { status: 200, body: { stopped } };
    } catch (error) {
      if (error instanceof WireError) return { code: error.code, message: error.message };
      throw error;
    }
  };
}
