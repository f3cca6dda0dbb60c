// Errors of the link: why a message was not sent or an attachment was not fetched.
/** Messages for codes that the link itself assigns. The server sends messages for its own codes. */
export const linkErrors = {
  outbox_full: "Too many messages are waiting.",
  too_large: "The message is too large.",
  id_reused: "Another message with this id is waiting.",
  expired: "The server did not confirm the message; it may have arrived.",
  unsupported: "The server cannot stop messages.",
  stopped: "The link was stopped; the message may have arrived.",
  no_websocket: "The platform has no WebSocket.",
  media_unavailable: "The attachment could not be fetched.",
  media_too_large: "The attachment is too large.",
  history_unavailable: "The history could not be read.",
} as const;

/** An error of a link. `code` is a key of `linkErrors` or a code of the server. */
export interface LinkError extends Error {
  /** Recognise the error by this name: two copies of the package may be loaded. */
  readonly name: "LinkError";
  /**
   * `outbox_full`, `too_large`, `id_reused`, `expired`, `stopped`, `unsupported`,
   * `media_unavailable`, `media_too_large`, `history_unavailable`, or a code of the server from
   * `docs/errors.md`.
   */
  readonly code: string;
}

export function linkError(code: string, message?: string): LinkError {
  const text = message ?? linkErrors[code as keyof typeof linkErrors] ?? code;
  return Object.assign(new Error(text), { name: "LinkError" as const, code });
}

/** @returns The code of an error of a link; undefined for any other thrown value. */
export const linkCode = (error: unknown): string | undefined =>
  error instanceof Error && error.name === "LinkError" ? (error as LinkError).code : undefined;
