// The steps of requests about a session: rate, body, access, and the session that they name.
import { WireError, messageErrors } from "../../../lib/pico-wire/index.ts";
import type { Admission, AdmissionControl } from "../handshake/admission.ts";
import { resolveSession, sessionForbidden } from "../handshake/identity.ts";
import type { Rejection } from "../handshake/rejection.ts";
import type { HandshakeRequest } from "../handshake/request.ts";
import type { AccessContext, JsonResponse, PostMessageOptions } from "./post-message.ts";
import { readBody } from "./read-body.ts";

export interface PostOptions extends Pick<PostMessageOptions, "isWithinRate" | "runtime"> {
  readonly access: AccessContext<Pick<AdmissionControl, "expired">>;
}

export type PostHandler = (
  handshakeRequest: HandshakeRequest,
  admission: Admission,
) => Promise<JsonResponse | Rejection | undefined>;

interface SessionAction<T> {
  readonly maxBodyBytes: number;
  /** @throws WireError for a body that is not valid. */
  readonly decode: (body: Uint8Array) => T;
  /** @param session - The one that the body names. */
  readonly act: (session: string, body: T, admission: Admission) => Promise<JsonResponse>;
}

const missingSession = 'The body has no session id. Add "session_id".';

export function postInSession<T extends { readonly session_id?: string | undefined }>(
  { runtime: { clock, newId }, access, isWithinRate }: PostOptions,
  { maxBodyBytes, decode, act }: SessionAction<T>,
): PostHandler {
  return async (handshakeRequest, admission) => {
    const { request, peer } = handshakeRequest;
    if (!isWithinRate(peer.key, clock.now()))
      return { code: "rate_limited", message: messageErrors.rate_limited.message };
    const body = await readBody(request, { maxBytes: maxBodyBytes, clock, reserve: () => true });
    if (body === undefined || "code" in body) return body;
    const expired = access.admissionControl.expired(admission);
    if (expired) return expired;
    try {
      const decoded = decode(body);
      const { session_id: name } = decoded;
      if (name === undefined) return { code: "invalid_session_id", message: missingSession };
      const session = resolveSession(admission, name, newId);
      if (session === undefined) return sessionForbidden(admission);
      return await act(session, decoded, admission);
    } catch (error) {
      if (error instanceof WireError) return { code: error.code, message: error.message };
      throw error;
    }
  };
}
