/* Every reason the channel gives, once: the same name stands in HTTP bodies, `error` frames, close reasons, facts and
 * counters. */

interface RejectionRow {
  /** HTTP status. */
  readonly status: number;
  /** One sentence for a person; says nothing about the value that was wrong. */
  readonly message: string;
}

/** Refused requests and handshakes. */
export const rejections = {
  not_found: {
    status: 404,
    message:
      "Nothing is at this address, or the channel is off: its path is /pico, its switch channels.pico.enabled.",
  },
  unavailable: { status: 503, message: "The channel is starting or stopping; try again shortly." },
  token_not_configured: {
    status: 503,
    message: "The channel has no token: its owner has to set channels.pico.token.",
  },
  store_unavailable: { status: 503, message: "The token is being replaced; try again shortly." },
  method_not_allowed: {
    status: 405,
    message: "This address does not take that method; Allow names those it takes.",
  },
  origin_not_allowed: {
    status: 403,
    message: "Pages of this origin may not use the channel; allow_origins lists those that may.",
  },
  bad_handshake: { status: 400, message: "The handshake is malformed." },
  token_missing: {
    status: 401,
    message:
      "A token is required: send Authorization: Bearer <token>, or offer the subprotocol token.<token>.",
  },
  token_malformed: {
    status: 401,
    message:
      'The token must be sent as "Authorization: Bearer <token>", with one space after Bearer.',
  },
  token_mismatch: {
    status: 401,
    message: "The token is not the channel's token: compare it with the one that is configured.",
  },
  token_query_disabled: {
    status: 401,
    message: "Tokens in the URL are switched off; allow_token_query switches them on.",
  },
  rate_limited: {
    status: 429,
    message: "Too many different wrong tokens came from here; wait for Retry-After.",
  },
  upgrade_required: {
    status: 426,
    message:
      "This address speaks WebSocket: send Upgrade: websocket and Sec-WebSocket-Version: 13.",
  },
  invalid_session_id: {
    status: 400,
    message: "A session_id has at most 256 bytes and no control characters.",
  },
  too_many_connections: {
    status: 503,
    message: "All max_connections are taken; try again shortly.",
  },
  request_timeout: {
    status: 408,
    message: "The body takes over 30 s and comes slower than 16 KiB a second.",
  },
  body_too_large: { status: 413, message: "The body is larger than max_payload; send less." },
  unsupported_media_type: {
    status: 415,
    message: "The body is JSON: send Content-Type: application/json.",
  },
} as const satisfies Record<string, RejectionRow>;

/** Refused messages: the connection stays open. `status` is the answer when the message came by HTTP. */
export const messageErrors = {
  invalid_message: { status: 400, message: "The message could not be read." },
  unknown_type: {
    status: 400,
    message:
      'The "type" is none that clients send: message.send, media.send, typing.start, typing.stop, ping, ack.',
  },
  invalid_media: {
    status: 422,
    message:
      "A medium must be a data: URL of a jpeg, png, gif, webp or bmp image in base64, at most 20 MiB decoded.",
  },
  empty_content: {
    status: 422,
    message: 'A message needs "content" that is not blank, or at least one medium.',
  },
  rate_limited: { status: 429, message: "Too many messages; slow down to message_rate a second." },
  too_large: { status: 413, message: "The content is larger than 1 MiB; send less at once." },
  no_application: {
    status: 503,
    message: "No application answers on this channel; its owner has to add one.",
  },
  id_reused: {
    status: 409,
    message: "Another message with this id was taken before; give each its own.",
  },
  loop: {
    status: 409,
    message: "The message has crossed more than 4 bridges: it runs in a circle.",
  },
  application_refused: { status: 422, message: "The application refused the message." },
  application_ended: {
    status: 502,
    message: "The program that answers ended before it had answered this message.",
  },
  bad_answer: {
    status: 502,
    message: "The program that answers wrote something that cannot be sent as a message.",
  },
  no_answer: { status: 504, message: "The application did not answer in time." },
  busy: { status: 503, message: "The service takes no messages at the moment." },
  internal: { status: 500, message: "Something went wrong here; the log has the details." },
} as const satisfies Record<string, RejectionRow>;

/** What a client does after a close. `new-token`: retries only with another token; `smaller`: without the message that
 *  was too big. */
export type ClientAction =
  | "stop"
  | "retry"
  | "retry-slowly"
  | "retry-after"
  | "smaller"
  | "new-token";

interface CloseRow {
  readonly code: number;
  readonly client: ClientAction;
}

/** Why a connection ends. */
export const closeCodes = {
  /** Either side is done. */
  normal: { code: 1000, client: "stop" },
  /** The service stops, or the channel was switched off. */
  going_away: { code: 1001, client: "retry-slowly" },
  protocol_error: { code: 1002, client: "retry" },
  unsupported_data: { code: 1003, client: "retry" },
  invalid_data: { code: 1007, client: "retry" },
  /** The sign-in behind a dashboard's connection ended. */
  session_ended: { code: 1008, client: "stop" },
  /** A message over the server's `max_payload`. */
  too_big: { code: 1009, client: "smaller" },
  /** A fault of the server. */
  internal: { code: 1011, client: "retry" },
  restart: { code: 1012, client: "retry-after" },
  /** The token the connection used was replaced. */
  token_rotated: { code: 1012, client: "retry-after" },
  /** Overload. */
  try_later: { code: 1013, client: "retry-after" },
  /** Twenty malformed frames in a minute. */
  bad_request: { code: 4400, client: "stop" },
  /** The token was removed and none is left. */
  unauthorized: { code: 4401, client: "new-token" },
  /** An owner disconnected it. */
  forbidden: { code: 4403, client: "stop" },
  /** Nothing heard for the server's `read_timeout`. */
  heartbeat: { code: 4408, client: "retry" },
  /** The same client resumed on another socket. */
  replaced: { code: 4409, client: "stop" },
  /** The peer reads too slowly: the queue for it is full. */
  slow_consumer: { code: 4410, client: "retry" },
  /** Five `rate_limited` errors. */
  rate_limited: { code: 4429, client: "retry-after" },
} as const satisfies Record<string, CloseRow>;

/** Why a client does not get what it missed: more than is kept, or a stream that began anew. */
export const gapReasons = ["overflow", "epoch_changed"] as const;

export type GapReason = (typeof gapReasons)[number];
export type RejectionCode = keyof typeof rejections;
export type ErrorCode = keyof typeof messageErrors;
export type CloseName = keyof typeof closeCodes;
export type AnyCode = RejectionCode | ErrorCode | CloseName;

/** What a received close means. `name` is undefined for codes and names this version does not know. */
export interface ReceivedClose {
  readonly name: CloseName | undefined;
  readonly client: ClientAction;
  /** Milliseconds to wait, when the server named them. */
  readonly retryMs: number | undefined;
}

const closeRows = Object.entries(closeCodes) as [
  CloseName,
  { code: number; client: ClientAction },
][];
/** Said by the library, which knows no names. */
const codesWithoutReason: readonly CloseName[] = [
  "protocol_error",
  "unsupported_data",
  "invalid_data",
];

/** The text of a close frame: `<name>` or `<name>; retry=<ms>`; empty where the code says it all. */
export function closeReason(name: CloseName, retryMs?: number): string {
  if (codesWithoutReason.includes(name)) return "";
  return retryMs === undefined ? name : `${name}; retry=${Math.max(0, Math.round(retryMs))}`;
}

export function parseCloseReason(text: string): { name: string; retryMs: number | undefined } {
  const retry = /;\s*retry=(\d{1,9})\b/.exec(text)?.[1];
  return {
    name: text.replace(/;.*/s, "").trim(),
    retryMs: retry === undefined ? undefined : Number(retry),
  };
}

/** The row for a close as it was received. Codes of nobody's table, 1006 among them, mean: retry. */
export function interpretClose(code: number, reason = ""): ReceivedClose {
  const { name, retryMs } = parseCloseReason(reason);
  const candidates = closeRows.filter(([, row]) => row.code === code);
  const row = candidates.find(([known]) => known === name) ?? candidates[0];
  return { name: row?.[0], client: row?.[1].client ?? "retry", retryMs };
}
