// Schema of a `handler` that runs an agent over the Agent Client Protocol.
import * as z from "zod";
import { handlerSchema } from "../program/config.ts";

const { command, cwd, env, restart, stop_grace_s, question_max_s, suggestions } =
  handlerSchema.shape;

/**
 * Schema of `handler` in `config.json` for an agent. Cannot be edited over HTTP, because the agent
 * runs with the rights of the owner.
 */
export const acpHandlerSchema = z.strictObject({
  /** The agent and its arguments, passed to the operating system without a shell. */
  acp: command,
  /** The folder that the agent works in. Default: the folder of `config.json`. */
  cwd,
  env,
  /** Id of the mode that each session begins in. Default: the one that asks, if there is one. */
  mode: z.string().min(1).max(200).optional(),
  restart,
  stop_grace_s,
  question_max_s,
  suggestions,
});
/** Validated `handler` section of an agent. */
export type AcpHandlerConfig = z.output<typeof acpHandlerSchema>;
