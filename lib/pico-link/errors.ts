/** Why a message was not sent, or an attachment not fetched, where the server did not say it. */
export const linkErrors = {
  outbox_full: "Too many messages wait.",
  too_large: "The message is too large.",
  id_reused: "Another message with this id waits.",
  expired: "Nobody confirmed the message; it may have arrived.",
  stopped: "The link was stopped; it may have arrived.",
  media_unavailable: "The attachment could not be fetched.",
  media_too_large: "The attachment is too large.",
} as const;

/** `code`: one of `linkErrors`, or the server's own. */
export interface LinkError extends Error {
  readonly name: "LinkError";
  readonly code: string;
}

export function linkError(code: string, message?: string): LinkError {
  const text = message ?? linkErrors[code as keyof typeof linkErrors] ?? code;
  return Object.assign(new Error(text), { name: "LinkError" as const, code });
}
