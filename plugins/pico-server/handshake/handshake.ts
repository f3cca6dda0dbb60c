import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Log } from "../../../kernel/index.ts";
import type { Http } from "../../http/index.ts";
import { isSessionId, parseCursor, type Cursor } from "../../../lib/pico-wire/index.ts";
import { corsHeaders } from "./origins.ts";
import type { PicoServerConfig } from "../config.ts";
import type { ConnectionRegistry } from "../connection/registry.ts";
import { isRejection, type Admission, type AdmissionControl } from "./admission.ts";
import {
  parseHandshakeRequest,
  type HandshakeRequest,
  type OfferedCredentials,
} from "./request.ts";
import { detachString } from "../connection/registry.ts";
import { toHttpRejection, type Rejection } from "./rejection.ts";
import type { ChannelWebSocket, Upgrader } from "../connection/web-socket.ts";

/** What a client of the extension asks for. */
export interface Extension {
  /** Where it stands in the session's stream. */
  readonly resume: Cursor | undefined;
}

export interface AcceptedHandshake {
  readonly ws: ChannelWebSocket;
  readonly socket: Duplex;
  readonly session: string;
  readonly extension: Extension | undefined;
}

export interface HandshakeOptions {
  readonly http: Http;
  readonly gate: AdmissionControl;
  readonly upgrader: Upgrader;
  readonly log: Log;
  readonly config: () => PicoServerConfig;
  readonly connections: Pick<ConnectionRegistry, "count" | "knows" | "replace">;
  readonly newId: () => string;
  readonly refused: (handshakeRequest: HandshakeRequest, rejection: Rejection) => void;
  readonly opened: (
    acceptedHandshake: AcceptedHandshake,
    handshakeRequest: HandshakeRequest,
    admission: Admission,
  ) => void;
}

interface VerifiedRequest {
  readonly admission: Admission;
  readonly offer: OfferedCredentials;
}

/** `pico.v1` when it was offered, else the item that held the right token: a browser needs one of its own back. */
function selectSubprotocol(
  { protocols = [] }: OfferedCredentials,
  { echo }: Admission,
): string | undefined {
  return protocols.includes("pico.v1") ? "pico.v1" : echo;
}

function checkProtocol(
  { q, params }: HandshakeRequest,
  { protocols }: OfferedCredentials,
): Rejection | undefined {
  const { headers } = q;
  const isWebSocket = headers.upgrade?.toLowerCase() === "websocket";
  if (!isWebSocket || headers["sec-websocket-version"] !== "13")
    return { code: "upgrade_required" };
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")) {
    return { code: "bad_handshake", message: "The Sec-WebSocket-Key is missing or malformed." };
  }
  if (!protocols)
    return { code: "bad_handshake", message: "The list of subprotocols is malformed." };
  const session = params.get("session_id") ?? "";
  for (const name of ["session_id", "resume", "conn"]) {
    if (params.getAll(name).length > 1)
      return { code: "bad_handshake", message: `${name} may be given once.` };
  }
  if (session !== "" && !isSessionId(session)) return { code: "invalid_session_id" };
  const { resume, isAsked } = readExtension(params);
  if (!isAsked || resume === "" || parseCursor(resume)) return undefined;
  return {
    code: "bad_handshake",
    message: "resume is written EPOCH:SEQ, as the server named them.",
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

/** An upgrade request, from the first check to 101. */
export function createHandshake(
  options: HandshakeOptions,
): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const { http, gate, upgrader, log, config, connections } = options;

  async function admit(handshakeRequest: HandshakeRequest): Promise<VerifiedRequest | Rejection> {
    const closed = gate.isServing(handshakeRequest);
    if (closed) return closed;
    if (handshakeRequest.q.method !== "GET")
      return { code: "method_not_allowed", allow: "GET, HEAD, OPTIONS" };
    const offer = gate.offer(handshakeRequest);
    const admission = await gate.admit(handshakeRequest, offer);
    return isRejection(admission) ? admission : { admission, offer };
  }

  /** What is left once the token was right. Nothing else runs from here to 101: the slot that is free stays free. */
  function fault(
    handshakeRequest: HandshakeRequest,
    { admission, offer }: VerifiedRequest,
  ): Rejection | undefined {
    const first =
      checkProtocol(handshakeRequest, offer) ?? gate.expired(handshakeRequest, admission);
    if (first) return first;
    const isFree = connections.count() < config().max_connections;
    return isFree || connections.knows(readExtension(handshakeRequest.params).conn)
      ? undefined
      : { code: "too_many_connections" };
  }

  function refuse(handshakeRequest: HandshakeRequest, socket: Duplex, rejection: Rejection): void {
    const { status, body, headers } = toHttpRejection(rejection);
    options.refused(handshakeRequest, rejection);
    const cors =
      handshakeRequest.origin !== undefined && gate.allowsOrigin(handshakeRequest)
        ? corsHeaders(handshakeRequest.origin)
        : {};
    http.rejectUpgrade(socket, status, body, { ...headers, ...cors });
  }

  async function answer(
    handshakeRequest: HandshakeRequest,
    socket: Duplex,
    head: Buffer,
  ): Promise<void> {
    const failed = (): void => void socket.destroy();
    socket.on("error", failed);
    const ready = await admit(handshakeRequest);
    if (socket.destroyed) return;
    if ("code" in ready) return refuse(handshakeRequest, socket, ready);
    const rejection = fault(handshakeRequest, ready);
    if (rejection) return refuse(handshakeRequest, socket, rejection);
    socket.off("error", failed);
    const { admission, offer } = ready;
    const named = handshakeRequest.params.get("session_id");
    const session = named ? detachString(named) : options.newId();
    const { isAsked, resume, conn } = readExtension(handshakeRequest.params);
    const extension = isAsked ? { resume: parseCursor(resume) } : undefined;
    upgrader.upgrade(
      handshakeRequest.q,
      socket,
      head,
      selectSubprotocol(offer, admission),
      (ws) => {
        options.opened({ ws, socket, session, extension }, handshakeRequest, admission);
        connections.replace(conn); // now that its successor hears the session: it was never left
      },
    );
  }

  return (request, socket, head) => {
    const handshakeRequest = parseHandshakeRequest(http, request, true);
    answer(handshakeRequest, socket, head).catch((error: unknown) => {
      log.error({ err: error }, "a handshake failed");
      refuse(handshakeRequest, socket, { code: "internal" });
    });
  };
}
