/** Sentences for answers that have failed. @module */
import type { Run } from "./state/thread.ts";

const tooLarge = "The reply is too large to be sent.";
/** For errors without a sentence of the application. */
const failures: Readonly<Record<string, string>> = {
  application_refused: "The application rejected the message.",
  application_ended: "The program ended before it replied to this message.",
  bad_answer: "The program sent an invalid reply.",
  no_answer: "The program did not respond in time.",
  not_stored: "The message could not be stored.",
  reply_too_large: tooLarge,
  too_large: tooLarge, // in the history
};

const lost = "Doorward was stopped before the answer ended.";

export const failureOf = (run: Run | undefined): string =>
  (run?.outcome === "lost" ? lost : undefined) ??
  run?.reason ??
  failures[run?.code ?? ""] ??
  "The application failed.";
