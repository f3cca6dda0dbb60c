// Reads the tools that a client offers to run, and its choice among them.
import { isObject } from "../../lib/util.ts";
import type { ClientTool, ToolChoice } from "../channels/index.ts";
import { invalidType, own, readText, unsupported, requireText, type JsonObject } from "./fields.ts";
import { depthOf, withoutPrototypes } from "./metadata.ts";
import { refuse } from "./errors.ts";

/** Tools of one request, calls of one answer, and results of one message. */
export const maxTools = 128;
const maxToolBytes = 256 * 1024;
/** Levels of a schema. */
const maxDepth = 32;
const toolName = /^[^\p{Cc}]{1,128}$/u;

/** The tools of a client, as its request names them. */
export interface ToolOffer {
  readonly tools?: readonly ClientTool[];
  readonly toolChoice?: ToolChoice;
}

/** Reads one tool in the form that has the fields of the function itself. */
export function readTool(tool: JsonObject, param: string, schemaKey = "parameters"): ClientTool {
  const name = requireText(tool, "name", param);
  if (!toolName.test(name)) {
    const message = "The name of a tool may have 1 to 128 characters, and no control characters.";
    throw unsupported(`${param}.name`, message);
  }
  const description = readText(tool, "description", param);
  const parameters = own(tool, schemaKey);
  if (parameters !== undefined && !isObject(parameters))
    throw invalidType(`${param}.${schemaKey}`, "an object");
  if (depthOf(parameters, maxDepth) > maxDepth)
    throw unsupported(`${param}.${schemaKey}`, `The schema may have at most ${maxDepth} levels.`);
  return {
    name,
    ...(description !== undefined && { description }),
    ...(parameters && { parameters: withoutPrototypes(parameters) }),
  };
}

/** @throws Refusal if there are too many tools, or they are too large. */
export function boundTools(tools: readonly ClientTool[], param: string): Pick<ToolOffer, "tools"> {
  if (tools.length === 0) return {};
  if (tools.length > maxTools)
    throw unsupported(param, `A request may have at most ${maxTools} tools.`);
  if (Buffer.byteLength(JSON.stringify(tools)) > maxToolBytes)
    throw refuse("too_large", "The tools may have at most 256 KiB as JSON.", { param });
  return { tools };
}

const choices: readonly unknown[] = ["auto", "none", "required"];

/** Returns undefined for a choice that the application cannot receive. */
export function readToolChoice(choice: unknown): ToolChoice | undefined {
  if (choices.includes(choice)) return choice as ToolChoice;
  if (!isObject(choice) || choice["type"] !== "function") return undefined;
  const named = isObject(choice["function"]) ? choice["function"] : choice;
  const name = own(named, "name");
  return typeof name === "string" && toolName.test(name) ? { name } : undefined;
}

/** The names of the tools that an answer may ask the client to run. */
export const offeredNames = ({ tools = [], toolChoice }: ToolOffer): ReadonlySet<string> =>
  new Set(toolChoice === "none" ? [] : tools.map(({ name }) => name));
