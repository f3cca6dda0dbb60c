// Rejected requests: their HTTP response, log line, metrics and event.
import type { Log } from "../../../kernel/index.ts";
import {
  messageErrors,
  rejections,
  type ErrorCode,
  type RejectionCode,
} from "../../../lib/pico-wire/index.ts";
import type { Http } from "../../http/index.ts";
import { countRejection, type Counters } from "../metrics.ts";
import type { PicoServerEvents } from "../service.ts";
import type { HandshakeRequest, OfferedCredentials, TokenMethod } from "./request.ts";

/** The reason for a rejection, as data. The caller writes it to a socket or a response. */
export interface Rejection {
  readonly code: RejectionCode | ErrorCode;
  readonly retryAfterSeconds?: number;
  /** Value of the `Allow` header. */
  readonly allow?: string;
  /**
   * How many different wrong tokens this address has sent in the limiter's window, if this one was
   * counted.
   */
  readonly counted?: number;
  /** Id of the identified person whose request was rejected. */
  readonly user?: string;
  /** How the token was sent. */
  readonly method?: TokenMethod;
  /** Replaces the default sentence of the code. */
  readonly message?: string;
}

interface HttpRejection {
  readonly status: number;
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
}

const defaultRetryAfter: Partial<Record<Rejection["code"], number>> = {
  unavailable: 2,
  token_not_configured: 30,
  store_unavailable: 5,
  not_stored: 5,
  too_many_connections: 5,
  rate_limited: 1,
  no_application: 5,
  busy: 2,
};

/** Codes of rejections that depend on the origin. */
const originCodes: ReadonlySet<string> = new Set(["origin_not_allowed", "sign_in_rejected"]);
/** Longest origin in an event, in characters. */
const maxOriginLength = 300;

function toRejectedEvent(
  { peer, origin }: HandshakeRequest,
  { tokens: [offered] }: OfferedCredentials,
  { code, retryAfterSeconds, user, message }: Rejection,
): PicoServerEvents["pico-server:refused"] {
  return {
    code,
    address: peer.address,
    ...(offered && { method: offered.method }),
    ...(user !== undefined && { user }),
    ...(originCodes.has(code) &&
      origin !== undefined && { origin: origin.slice(0, maxOriginLength) }),
    ...(code === "sign_in_rejected" && message !== undefined && { why: message }),
    ...(code === "rate_limited" && retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

export function toHttpRejection(rejection: Rejection): HttpRejection {
  const { code, allow } = rejection;
  const row =
    code in rejections ? rejections[code as RejectionCode] : messageErrors[code as ErrorCode];
  const wait = rejection.retryAfterSeconds ?? defaultRetryAfter[code];
  const headers: Record<string, string> = {};
  if (row.status === 401) headers["WWW-Authenticate"] = 'Bearer realm="pico"';
  if (row.status === 426)
    Object.assign(headers, { Upgrade: "websocket", "Sec-WebSocket-Version": "13" });
  if (allow !== undefined) headers["Allow"] = allow;
  if (wait !== undefined) headers["Retry-After"] = String(wait);
  const body = {
    error: code,
    message: rejection.message ?? row.message,
    ...(wait === undefined ? {} : { retryAfterSeconds: wait }),
  };
  return { status: row.status, body, headers };
}

interface RejectionReporterOptions {
  /** How the client came, for the log. */
  readonly entrance: "pico" | "keys";
  readonly counters: Counters;
  readonly http: Pick<Http, "noteFault">;
  readonly log: Log;
  readonly admissionControl: {
    credentials(handshakeRequest: HandshakeRequest): OfferedCredentials;
  };
  readonly emit: (
    type: "pico-server:refused",
    event: () => PicoServerEvents["pico-server:refused"],
  ) => void;
}

/**
 * Counts rejected requests, emits an event and logs them. A wrong token that the limiter counts
 * always has a log line of its own. All others have one line per address, code and minute.
 */
export function createRejectionReporter({
  entrance,
  counters,
  http,
  log,
  admissionControl,
  emit,
}: RejectionReporterOptions) {
  return (handshakeRequest: HandshakeRequest, rejection: Rejection): void => {
    const { code, counted, user, message: why } = rejection;
    const { address } = handshakeRequest.peer;
    countRejection(counters, handshakeRequest, rejection);
    const fields = {
      via: entrance,
      ...(user !== undefined && { user }),
      ...(code === "sign_in_rejected" && { why }),
    };
    if (counted === undefined)
      http.noteFault(log, { reason: code, address, text: "client rejected", fields });
    else log.warn({ reason: code, ip: address, ...fields, count: counted }, "client rejected");
    emit("pico-server:refused", () =>
      toRejectedEvent(handshakeRequest, admissionControl.credentials(handshakeRequest), rejection),
    );
  };
}
