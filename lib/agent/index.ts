/**
 * An agent in four lines: a function that reads a message and yields its answer, as the program
 * behind Doorward.
 *
 * @example
 * import { agent } from "doorward/agent";
 *
 * export default agent(async function* (message) {
 *   yield `you said ${message.content}`;
 * });
 *
 * @module
 */
import { serve, writeMessage, writeStatus } from "./serve.ts";
import type { AgentOptions, Handler, StatusFields } from "./types.ts";

export { AgentError } from "./types.ts";
export type { AgentState } from "./state.ts";
export type {
  AgentAnswer,
  AgentFile,
  AgentMessage,
  AgentOption,
  AgentOptions,
  AnswerFacts,
  Handler,
  PlanEntry,
  QuestionFields,
  Settled,
  StatusFields,
  Step,
  StepFields,
  Written,
} from "./types.ts";

/**
 * Makes a function the application of Doorward, if Doorward runs this process:
 * `doorward run -- node bot.mjs`. Its text is the answer: all that it yields or returns.
 * Otherwise, for example in a test, it only returns the function.
 *
 * @param handler - An async generator, or a function that returns the text.
 * @returns The same function: see `talk` of `doorward/agent/testing`.
 * @example
 * import { agent } from "doorward/agent";
 * agent(async function* (_, answer) {
 *   if (await answer.allow("Delete 3 files?")) yield "Deleted.";
 * });
 */
export function agent(handler: Handler, options: AgentOptions = {}): Handler {
  if (process.env["DOORWARD_CAN"] !== undefined) serve(handler, options);
  return handler;
}

/**
 * Sends a message that answers none, for example when a timer ends.
 *
 * @param channel - @defaultValue `"pico"`
 * @throws Error if no agent runs in this process.
 */
export function send(session: string, text: string, channel = "pico"): void {
  writeMessage(session, text, channel);
}

/**
 * Says how the program is, also before the agent starts. An older Doorward does not learn it.
 *
 * @example
 * import { status } from "doorward/agent";
 * status({ state: "needs_action", message: "It is not signed in.", fix: "Run bot login." });
 */
export function status(fields: StatusFields): void {
  writeStatus(fields);
}
