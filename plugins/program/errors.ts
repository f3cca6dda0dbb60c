import { errorTable } from "../../kernel/index.ts";

/** Told to whoever sent the message. */
export const programErrors = errorTable({
  application_refused: (sentence: string) => sentence,
  application_ended: (how: string, wasGiven: boolean) =>
    wasGiven
      ? `The program that answers ended (${how}) before it had answered this message; it may have acted on it.`
      : `The program that answers is not running (${how}); it was not given this message.`,
  bad_answer: (problem: string) =>
    `The program's answer is no message that can be sent: ${problem.replace(/\.$/, "")}.`,
  no_answer: (seconds: number) => `The program gave no sign of this message for ${seconds} s.`,
});
