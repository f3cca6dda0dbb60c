// Sentences of the sign-in and setup pages for failed attempts, by error code.

const tooManyTokens = "Too many wrong tokens from this address.";
const wrongCode = "That is not the generated token. Check that you copied all of it.";

export const signInFailures = {
  // Covers used sign-in links too, so that the response does not reveal which one was wrong.
  invalid_token:
    "That is not the launcher token. Check that you copied all of it. " +
    "A sign-in link works once and expires after five minutes.",
  rate_limited: tooManyTokens,
  link_expired: "This sign-in link was used already or is too old. Sign in with the token.",
  invalid_body: "Enter the launcher token.",
  origin_not_allowed: "Another site sent this form, so it was rejected. Sign in here.",
  session_ended: "Your session has ended. Sign in again.",
} as const;
export type SignInFailureCode = keyof typeof signInFailures;

/** Sentences for messages of the server that are written for programs. */
export const codeFailures: Readonly<Record<string, string>> = {
  invalid_code: wrongCode,
  rate_limited: tooManyTokens,
};

export const setupFailures = {
  invalid_code: wrongCode,
  rate_limited: tooManyTokens,
  token_mismatch: "The two entries of your token differ.",
  weak_token: "Your token violates a rule below.",
  invalid_body: "Fill in the form below.",
  store_unavailable: "The token could not be saved. Nothing was changed. Try again.",
} as const;
export type SetupFailureCode = keyof typeof setupFailures;

/** Returns whether a page has a sentence for an error code. */
export const isFailureOf = <T extends object>(failures: T, code: unknown): code is keyof T =>
  typeof code === "string" && Object.hasOwn(failures, code);
