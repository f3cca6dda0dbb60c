// Errors that the sender of a message receives if the agent fails.
import { errorTable } from "../../kernel/index.ts";

export const acpErrors = errorTable({
  application_ended: (how: string) =>
    `The agent ended (${how}) before it replied to this message. ` +
    "It may have acted on the message.",
  agent_not_running: (sentence: string) => sentence,
  agent_needs_sign_in: (sentence: string) => sentence,
  agent_refused: (sentence: string) => sentence,
  agent_failed: (words: string) => `The agent reported an error: ${words}`,
  agent_busy: "The agent still works on an earlier message of this conversation.",
});
