// Errors of the link: why a message was not sent or an attachment was not fetched.
/** Messages for codes that the link itself assigns. The server sends messages for its own codes. */
export const chatErrors = {
  outbox_full: "Too many messages are waiting.",
  too_large: "The message is too large.",
  id_reused: "Another message with this id is waiting.",
  expired: "The server did not confirm the message; it may have arrived.",
  not_sent: "The link is not open, and an answer is not kept for later.",
  unconfirmed: "The connection ended before the answer was confirmed; it may count.",
  unsupported: "The server cannot stop messages, or knows no questions.",
  stopped: "The message was removed before it was sent.",
  closed: "The client was closed; the message may have arrived.",
  no_websocket: "The platform has no WebSocket.",
  media_unavailable: "The attachment could not be fetched.",
  media_too_large: "The attachment is too large.",
  history_unavailable: "The history could not be read.",
} as const;

/** Why a message was not accepted, or an attachment or the history could not be read. */
export interface ChatError extends Error {
  /** Recognise the error by this name: two copies of the package may be loaded. */
  readonly name: "ChatError";
  /**
   * A code of the client, or a code of the server from `docs/errors.md`.
   */
  readonly code: keyof typeof chatErrors | (string & {});
}

export function chatError(code: string, message?: string): ChatError {
  const text = message ?? chatErrors[code as keyof typeof chatErrors] ?? code;
  return Object.assign(new Error(text), { name: "ChatError" as const, code });
}

/** @returns The code of an error of a link; undefined for any other thrown value. */
export const chatCode = (error: unknown): string | undefined =>
  error instanceof Error && error.name === "ChatError" ? (error as ChatError).code : undefined;
