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
import { serve } from "./serve.ts";
import type { AgentOptions, Handler } from "./types.ts";

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
