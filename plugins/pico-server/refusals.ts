import { errors, refusals, type ErrorCode, type RefusalCode } from "../../lib/pico-wire/index.ts";
import type { PicoServerEvents } from "./events.ts";
import type { Knock, Method, Offer } from "./knock.ts";

/** Why a request is turned away, as data: written to a socket or an answer by whoever holds it. */
export interface Refusal {
  readonly code: RefusalCode | ErrorCode;
  readonly retryAfterSeconds?: number;
  /** Methods that are served. */
  readonly allow?: string;
  /** Different wrong values of this peer in the window, when one was counted. */
  readonly counted?: number;
  /** Whose token it was about. */
  readonly method?: Method;
  /** In place of the code's own sentence. */
  readonly message?: string;
}

export interface Written {
  readonly status: number;
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
}

const standardWait: Partial<Record<Refusal["code"], number>> = {
  unavailable: 2,
  token_not_configured: 30,
  store_unavailable: 5,
  too_many_connections: 5,
  rate_limited: 1,
  no_application: 5,
  busy: 2,
};

/** Characters of an origin that a fact tells. */
const longestOrigin = 300;

export function factOf(
  { peer, origin }: Knock,
  { tokens: [offered] }: Offer,
  { code, retryAfterSeconds }: Refusal,
): PicoServerEvents["pico-server:refused"] {
  return {
    code,
    address: peer.address,
    ...(offered && { method: offered.method }),
    ...(code === "origin_not_allowed" &&
      origin !== undefined && { origin: origin.slice(0, longestOrigin) }),
    ...(code === "rate_limited" && retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

export function write(refusal: Refusal): Written {
  const { code, allow } = refusal;
  const row = code in refusals ? refusals[code as RefusalCode] : errors[code as ErrorCode];
  const wait = refusal.retryAfterSeconds ?? standardWait[code];
  const headers: Record<string, string> = {};
  if (row.status === 401) headers["WWW-Authenticate"] = 'Bearer realm="pico"';
  if (row.status === 426)
    Object.assign(headers, { Upgrade: "websocket", "Sec-WebSocket-Version": "13" });
  if (allow !== undefined) headers["Allow"] = allow;
  if (wait !== undefined) headers["Retry-After"] = String(wait);
  const body = {
    error: code,
    message: refusal.message ?? row.message,
    ...(wait === undefined ? {} : { retryAfterSeconds: wait }),
  };
  return { status: row.status, body, headers };
}
