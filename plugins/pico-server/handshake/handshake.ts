// Handles a WebSocket upgrade from the first check to the 101 response.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Log } from "../../../kernel/index.ts";
import type { Http } from "../../http/index.ts";
import { isSessionId, parseCursor, type Cursor } from "../../../lib/pico-wire/index.ts";
import type { PicoServerConfig } from "../config.ts";
import type { ConnectionRegistry } from "../connection/registry.ts";
import { corsHeadersFor, isRejection, type Admission, type AdmissionControl } from "./admission.ts";
import {
  parseHandshakeRequest,
  type HandshakeRequest,
  type OfferedCredentials,
} from "./request.ts";
import { forbiddenBy, knowsToken, resolveSession, sessionForbidden } from "./identity.ts";
import { detachString } from "../connection/registry.ts";
import { toHttpRejection, type Rejection } from "./rejection.ts";
import { readFeatures, type Features } from "../session/features.ts";
import type { SessionGuard } from "../session/session-guard.ts";
import { acceptWebSocket, type ChannelWebSocket } from "../connection/web-socket.ts";

/** Parameters of a client that uses the extension. */
interface Extension {
  /** The cursor to resume at. */
  readonly resume: Cursor | undefined;
  readonly features: Features;
}

export interface AcceptedHandshake {
  readonly ws: ChannelWebSocket;
  readonly socket: Duplex;
  readonly session: string;
  readonly extension: Extension | undefined;
}

interface HandshakeOptions {
  readonly http: Http;
  readonly admissionControl: AdmissionControl;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  readonly connections: Pick<ConnectionRegistry, "count" | "knows" | "replace">;
  /** Closes the connection of this client on another node, if several nodes share the sessions. */
  readonly replaceElsewhere: (session: string, conn: string, user: string) => void;
  readonly newId: () => string;
  readonly sessionGuard: Pick<SessionGuard, "check">;
  readonly reportRejection: (handshakeRequest: HandshakeRequest, rejection: Rejection) => void;
  readonly opened: (
    acceptedHandshake: AcceptedHandshake,
    handshakeRequest: HandshakeRequest,
    admission: Admission,
  ) => void;
}

interface VerifiedRequest {
  readonly admission: Admission;
  /** Session of the connection. */
  readonly session: string;
  readonly credentials: OfferedCredentials;
}

/**
 * Selects `pico.v1` if the client offered it, otherwise the item with the matching token: browsers
 * require one of their items in the response.
 */
function selectSubprotocol(
  { protocols = [] }: OfferedCredentials,
  { echo }: Admission,
): string | undefined {
  return protocols.includes("pico.v1") ? "pico.v1" : echo;
}

function checkProtocol(
  { request, params }: HandshakeRequest,
  { protocols }: OfferedCredentials,
): Rejection | undefined {
  const { headers } = request;
  const isWebSocket = headers.upgrade?.toLowerCase() === "websocket";
  if (!isWebSocket || headers["sec-websocket-version"] !== "13")
    return { code: "upgrade_required" };
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")) {
    return {
      code: "bad_handshake",
      message: "The Sec-WebSocket-Key header is missing or malformed.",
    };
  }
  if (!protocols)
    return { code: "bad_handshake", message: "The Sec-WebSocket-Protocol header is malformed." };
  const session = params.get("session_id") ?? "";
  for (const name of ["session_id", "resume", "conn"]) {
    if (params.getAll(name).length > 1)
      return { code: "bad_handshake", message: `${name} must occur at most once.` };
  }
  if (session !== "" && !isSessionId(session)) return { code: "invalid_session_id" };
  const { resume, isAsked } = readExtension(params);
  if (!isAsked || resume === "" || parseCursor(resume)) return undefined;
  return {
    code: "bad_handshake",
    message: "resume must be EPOCH:SEQ, with the values of the server.",
  };
}

function readExtension(params: URLSearchParams): {
  isAsked: boolean;
  resume: string;
  conn: string;
} {
  const isAsked = params.get("pico_ext") === "1";
  return {
    isAsked,
    resume: params.get("resume") ?? "",
    conn: (isAsked && params.get("conn")) || "",
  };
}

/** Runs the asynchronous checks. */
async function admit(
  { admissionControl, sessionGuard, newId }: HandshakeOptions,
  handshakeRequest: HandshakeRequest,
): Promise<VerifiedRequest | Rejection> {
  const closed = admissionControl.isServing();
  if (closed) return closed;
  const { request, params } = handshakeRequest;
  if (request.method !== "GET") return { code: "method_not_allowed", allow: "GET, HEAD, OPTIONS" };
  const credentials = admissionControl.credentials(handshakeRequest);
  const admission = await admissionControl.admit(handshakeRequest, credentials);
  if (isRejection(admission)) return admission;
  const forbidden = forbiddenBy(admission, "read");
  if (forbidden) return forbidden;
  const name = params.get("session_id") ?? "";
  // the protocol check, which comes first, rejects the name
  if (name !== "" && !isSessionId(name)) return { admission, credentials, session: name };
  const session = resolveSession(admission, detachString(name), newId);
  if (session === undefined) return sessionForbidden(admission);
  const rejection =
    name === "" ? undefined : await sessionGuard.check(session, knowsToken(admission));
  return rejection ?? { admission, credentials, session };
}

/** Creates the handler for upgrade requests. */
export function createHandshake(
  options: HandshakeOptions,
): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const { http, admissionControl, log, config, connections } = options;

  /**
   * Runs the checks that follow a valid token. There is no await between them and the 101 response,
   * so no other handshake can take the free slot.
   */
  function check(
    handshakeRequest: HandshakeRequest,
    { admission, credentials }: VerifiedRequest,
  ): Rejection | undefined {
    const failed =
      checkProtocol(handshakeRequest, credentials) ?? admissionControl.expired(admission);
    if (failed) return failed;
    const { conn } = readExtension(handshakeRequest.params);
    const hasFreeSlot = connections.count() < config().max_connections;
    return hasFreeSlot || connections.knows(conn, admission.sender.id)
      ? undefined
      : { code: "too_many_connections" };
  }

  function reject(handshakeRequest: HandshakeRequest, socket: Duplex, rejection: Rejection): void {
    const { status, body, headers } = toHttpRejection(rejection);
    options.reportRejection(handshakeRequest, rejection);
    const cors = corsHeadersFor(admissionControl, handshakeRequest);
    http.rejectUpgrade(socket, status, body, { ...headers, ...cors });
  }

  async function accept(
    handshakeRequest: HandshakeRequest,
    socket: Duplex,
    head: Buffer,
  ): Promise<void> {
    const onError = (): void => void socket.destroy();
    socket.on("error", onError);
    const verified = await admit(options, handshakeRequest);
    if (socket.destroyed) return;
    if ("code" in verified) return reject(handshakeRequest, socket, verified);
    const rejection = check(handshakeRequest, verified);
    if (rejection) return reject(handshakeRequest, socket, rejection);
    socket.off("error", onError);
    const { admission, credentials, session } = verified;
    const { request, params } = handshakeRequest;
    const { isAsked, resume, conn } = readExtension(params);
    const extension = isAsked
      ? { resume: parseCursor(resume), features: readFeatures(params) }
      : undefined;
    const subprotocol = selectSubprotocol(credentials, admission);
    const ws = acceptWebSocket(request, socket, head, subprotocol, config().max_payload);
    options.opened({ ws, socket, session, extension }, handshakeRequest, admission);
    // The new connection has subscribed already, so the session never was without a subscriber.
    const isHere = connections.replace(conn, admission.sender.id);
    if (!isHere && conn !== "") options.replaceElsewhere(session, conn, admission.sender.id);
  }

  return (request, socket, head) => {
    const handshakeRequest = parseHandshakeRequest(http, request, true);
    accept(handshakeRequest, socket, head).catch((error: unknown) => {
      log.error({ err: error }, "Handshake failed");
      reject(handshakeRequest, socket, { code: "internal" });
    });
  };
}
