// Errors that the sender of a message receives if the program fails.
import { errorTable } from "../../kernel/index.ts";

export const programErrors = errorTable({
  application_refused: (sentence: string) => sentence,
  application_ended: (how: string, wasWritten: boolean) =>
    wasWritten
      ? `The program ended (${how}) before it replied to this message. ` +
        "It may have acted on the message."
      : `The program is not running (${how}). It did not receive this message.`,
  bad_answer: (problem: string) =>
    `The program sent an invalid reply: ${problem.replace(/\.$/, "")}.`,
  no_answer: (seconds: number) =>
    `The program did not respond to this message within ${seconds} s.`,
});
