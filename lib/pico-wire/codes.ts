// Lists every code of the channel: rejected requests, message errors, close codes and gap reasons.
// A code has the same name in HTTP bodies, `error` frames, close reasons, events and counters.

interface RejectionRow {
  /** HTTP status. */
  readonly status: number;
  /** One sentence for users. It says nothing about the wrong value. */
  readonly message: string;
}

/** Rejected requests and handshakes. */
export const rejections = {
  not_found: {
    status: 404,
    message:
      "Nothing is served at this address, or the channel is off. " +
      "Its path is /pico; the setting channels.pico.enabled turns it on.",
  },
  unavailable: { status: 503, message: "The channel is starting or stopping; try again shortly." },
  token_not_configured: {
    status: 503,
    message: "The channel has no token: its owner must set channels.pico.token.",
  },
  store_unavailable: {
    status: 503,
    message: "The token or the session cannot be checked now; try again shortly.",
  },
  method_not_allowed: {
    status: 405,
    message: "This address does not support the method; the Allow header lists the supported ones.",
  },
  origin_not_allowed: {
    status: 403,
    message:
      "Pages of this origin may not use the channel; allow_origins lists the allowed origins.",
  },
  bad_handshake: { status: 400, message: "The handshake is malformed." },
  token_missing: {
    status: 401,
    message:
      "A token is required: send Authorization: Bearer <token>, " +
      "or offer the subprotocol token.<token>.",
  },
  sign_in_rejected: {
    status: 401,
    message: "The sign-in of this browser does not count here; sign in again, or send the token.",
  },
  token_malformed: {
    status: 401,
    message:
      'The token must be sent as "Authorization: Bearer <token>", with one space after Bearer.',
  },
  token_mismatch: {
    status: 401,
    message: "The token is not the channel token: compare it with the configured one.",
  },
  token_query_disabled: {
    status: 401,
    message: "Tokens in the URL are switched off; allow_token_query switches them on.",
  },
  rate_limited: {
    status: 429,
    message: "Too many different wrong tokens came from this address; wait for Retry-After.",
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
  session_forbidden: {
    status: 403,
    message: "Your sign-in may not use this session; name one of your own.",
  },
  not_allowed: {
    status: 403,
    message: "Your key does not have the right to do this; its owner can create another key.",
  },
  too_many_connections: {
    status: 503,
    message: "The limit max_connections is reached; try again shortly.",
  },
  request_timeout: {
    status: 408,
    message: "The body takes more than 30 s and arrives slower than 16 KiB per second.",
  },
  body_too_large: { status: 413, message: "The body is larger than max_payload; send less." },
  unsupported_media_type: {
    status: 415,
    message: "The body must be JSON: send Content-Type: application/json.",
  },
  file_too_large: {
    status: 413,
    message: "The file is larger than media.max_file_mb; send a smaller one.",
  },
  media_full: { status: 507, message: "There is no room for the file: a limit is reached." },
  invalid_file: {
    status: 422,
    message: "The file was not stored: its headers or its checksum are wrong, or it was rejected.",
  },
} as const satisfies Record<string, RejectionRow>;

/**
 * Rejected messages. The connection stays open. `status` is the HTTP status if the message came by
 * HTTP.
 */
export const messageErrors = {
  invalid_message: { status: 400, message: "The message could not be read." },
  unknown_type: {
    status: 400,
    message:
      'The "type" is unknown. Clients send: message.send, media.send, typing.start, ' +
      "typing.stop, ping, ack.",
  },
  invalid_media: {
    status: 422,
    message:
      "A medium must be the id of an uploaded file, or a data: URL of a jpeg, png, gif, webp or " +
      "bmp image in base64, at most 20 MiB decoded.",
  },
  empty_content: {
    status: 422,
    message: 'A message needs "content" that is not blank, or at least one medium.',
  },
  session_forbidden: {
    status: 403,
    message: "Your sign-in may not use this session; name one of your own.",
  },
  not_allowed: {
    status: 403,
    message: "Your key does not have the right to do this; its owner can create another key.",
  },
  rate_limited: {
    status: 429,
    message: "Too many messages; send at most message_rate per second.",
  },
  too_large: { status: 413, message: "The content is larger than 1 MiB; split the message." },
  no_application: {
    status: 503,
    message: "No application answers on this channel; its owner must add one.",
  },
  id_reused: {
    status: 409,
    message: "Another message used this id before; use a new id for each message.",
  },
  unknown_turn: {
    status: 422,
    message:
      'The session has no message with the id in "replaces"; send the message without "replaces".',
  },
  unknown_media: {
    status: 422,
    message: "This session has no file with this id; upload the file to this session first.",
  },
  loop: {
    status: 409,
    message: "The message has crossed more than 4 bridges, so it probably runs in a circle.",
  },
  stopped: { status: 409, message: "The message was stopped; send another one instead." },
  application_refused: { status: 422, message: "The application rejected the message." },
  application_ended: {
    status: 502,
    message: "The program ended before it answered this message.",
  },
  bad_answer: {
    status: 502,
    message: "The program wrote a reply that cannot be sent as a message.",
  },
  reply_too_large: {
    status: 502,
    message: "The reply of the application is too large to be sent; it must send less.",
  },
  no_answer: { status: 504, message: "The application did not answer in time." },
  not_stored: {
    status: 503,
    message:
      "The conversation cannot be stored now; the owner of the server sees why. Try again later.",
  },
  busy: { status: 503, message: "The service does not accept messages at the moment." },
  internal: { status: 500, message: "An internal error occurred; the log has the details." },
} as const satisfies Record<string, RejectionRow>;

/**
 * The reaction of a client to a close: `new-token` retries only with another token; `smaller`
 * retries without the message that was too large.
 */
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

/** Reasons why a connection is closed. */
export const closeCodes = {
  /** The client or the server closed the connection normally. */
  normal: { code: 1000, client: "stop" },
  /** The server stops, or the channel was turned off. */
  going_away: { code: 1001, client: "retry-slowly" },
  /** A frame broke the protocol: RFC 6455 §7.4.1. The reason is empty. */
  protocol_error: { code: 1002, client: "retry" },
  /** The receiver does not accept this type of data: RFC 6455 §7.4.1. The reason is empty. */
  unsupported_data: { code: 1003, client: "retry" },
  /** Text that is not UTF-8: RFC 6455 §7.4.1. The reason is empty. */
  invalid_data: { code: 1007, client: "retry" },
  /** The sign-in that the connection of the dashboard belongs to has ended. */
  session_ended: { code: 1008, client: "stop" },
  /** A message was larger than `max_payload` of the server. */
  too_big: { code: 1009, client: "smaller" },
  /** An internal error of the server. */
  internal: { code: 1011, client: "retry" },
  /** The server restarts; `retry` spreads the reconnects. */
  restart: { code: 1012, client: "retry-after" },
  /** The token of the connection was replaced. */
  token_rotated: { code: 1012, client: "retry-after" },
  /** Overload. */
  try_later: { code: 1013, client: "retry-after" },
  /** Twenty malformed frames in a minute. */
  bad_request: { code: 4400, client: "stop" },
  /** The token was removed and there is no other one. */
  unauthorized: { code: 4401, client: "new-token" },
  /** The owner disconnected it. */
  forbidden: { code: 4403, client: "stop" },
  /** The server received nothing within its `read_timeout`. */
  heartbeat: { code: 4408, client: "retry" },
  /** The same client resumed on another socket. */
  replaced: { code: 4409, client: "stop" },
  /** The client reads too slowly, so its queue is full. */
  slow_consumer: { code: 4410, client: "retry" },
  /** Five `rate_limited` errors. */
  rate_limited: { code: 4429, client: "retry-after" },
} as const satisfies Record<string, CloseRow>;

/**
 * Reasons why missed frames cannot be replayed: more frames than the server keeps, or a new stream.
 */
export const gapReasons = ["overflow", "epoch_changed"] as const;

/** A reason of `gapReasons`. */
export type GapReason = (typeof gapReasons)[number];
/** A code of `rejections`: the field `error` of an HTTP body. */
export type RejectionCode = keyof typeof rejections;
/** A code of `messageErrors`: the field `code` of an `error` frame. */
export type ErrorCode = keyof typeof messageErrors;
/** A name of `closeCodes`: the start of the reason of a close frame. */
export type CloseName = keyof typeof closeCodes;
/** Any code of the channel. A code has one meaning, whichever way it is sent. */
export type AnyCode = RejectionCode | ErrorCode | CloseName;

/**
 * The meaning of a received close. `name` is undefined for codes and names that this version does
 * not know.
 */
export interface ReceivedClose {
  /** Why the server closed, if this version knows the name. */
  readonly name: CloseName | undefined;
  /** The reaction that the protocol asks of the client. Unknown closes mean `retry`. */
  readonly client: ClientAction;
  /** Milliseconds to wait, if the server sent them. */
  readonly retryMs: number | undefined;
}

const closeRows = Object.entries(closeCodes) as [
  CloseName,
  { code: number; client: ClientAction },
][];
/** Closes sent by the WebSocket library, which does not know the names. */
const codesWithoutReason: readonly CloseName[] = [
  "protocol_error",
  "unsupported_data",
  "invalid_data",
];

/**
 * Formats the text of a close frame: `<name>` or `<name>; retry=<ms>`. It is empty if the code is
 * sufficient.
 */
export function closeReason(name: CloseName, retryMs?: number): string {
  if (codesWithoutReason.includes(name)) return "";
  return retryMs === undefined ? name : `${name}; retry=${Math.max(0, Math.round(retryMs))}`;
}

/**
 * Parses the text of a close frame: the name before the first `;`, and the milliseconds of `retry`,
 * undefined without it.
 */
export function parseCloseReason(text: string): { name: string; retryMs: number | undefined } {
  const retry = /;\s*retry=(\d{1,9})\b/.exec(text)?.[1];
  return {
    name: text.replace(/;.*/s, "").trim(),
    retryMs: retry === undefined ? undefined : Number(retry),
  };
}

/** Codes from here on belong to the application: only the server of a channel sends them. */
const firstPrivateCode = 4000;

/**
 * Finds the meaning of a received close. Unknown codes, including 1006, mean `retry`. Suspended
 * browsers, proxies and tunnels close with codes such as 1000 and 1008 too, so these are final only
 * with a name of the server.
 */
export function interpretClose(code: number, reason = ""): ReceivedClose {
  const { name, retryMs } = parseCloseReason(reason);
  const candidates = closeRows.filter(([, row]) => row.code === code);
  const named = candidates.find(([known]) => known === name);
  const row = named ?? candidates[0];
  const isOfServer = named !== undefined || (code >= firstPrivateCode && name === "");
  if (row?.[1].client === "stop" && !isOfServer)
    return { name: undefined, client: "retry", retryMs };
  return { name: row?.[0], client: row?.[1].client ?? "retry", retryMs };
}
