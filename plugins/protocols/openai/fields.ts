// Checks the fields of a request body that Doorward does not apply.
import { isObject } from "../../../lib/util.ts";
import type { Channels, OutputForm } from "../../channels/index.ts";
import { refuse } from "../errors.ts";
import {
  invalidType,
  missing,
  own,
  readFlag,
  readOptionalList,
  readObject,
  readText,
  unsupported,
  withoutFields,
  type JsonObject,
} from "../fields.ts";
import { depthOf, withoutPrototypes } from "../metadata.ts";
import { toIgnored } from "../session.ts";
import { boundTools, readTool, readToolChoice, type ToolOffer } from "../tools.ts";
import { readItems } from "../turn.ts";

const isNumber = (value: unknown): boolean => typeof value === "number";
const isFlag = (value: unknown): boolean => typeof value === "boolean";
const sizes = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

type Check = readonly [expected: string, fits: (value: unknown) => boolean, keys: string[]];

/** Fields that Doorward does not apply, but whose type is wrong only by mistake. */
const checkedFields: readonly Check[] = [
  ["a number", isNumber, ["temperature", "top_p", "presence_penalty", "frequency_penalty"]],
  ["a whole number", Number.isInteger, ["n", "seed", "top_logprobs", ...sizes]],
  ["true or false", isFlag, ["logprobs", "store", "parallel_tool_calls", "background"]],
  ["a list", Array.isArray, ["tools", "functions", "modalities"]],
  ["an object", isObject, ["logit_bias", "response_format", "metadata", "reasoning", "text"]],
];

/** Throws for a known field of the wrong type, and for values that Doorward cannot serve. */
export function assertFields(body: JsonObject): void {
  for (const [expected, fits, keys] of checkedFields)
    for (const key of keys) {
      const value = own(body, key);
      if (value !== undefined && !fits(value)) throw invalidType(key, expected);
    }
  if (Number(own(body, "n") ?? 1) > 1)
    throw unsupported("n", "Only one choice is possible: n = 1.");
  const modalities = own(body, "modalities");
  if (Array.isArray(modalities) && modalities.includes("audio"))
    throw unsupported("modalities", "Only text replies are possible.");
}

/**
 * Splits the fields that Doorward does not apply from those that it reads.
 *
 * @param more - Other parts of the request that are not applied.
 */
export function splitIgnored(
  body: JsonObject,
  read: ReadonlySet<string>,
  more: readonly string[] = [],
): { readonly ignored: string; readonly rest: JsonObject } {
  const rest = withoutFields(body, read);
  const names = Object.keys(rest).filter((name) => /^[a-z_]{1,40}$/.test(name));
  return { ignored: toIgnored([...names, ...more]), rest };
}

const maxSchemaBytes = 256 * 1024;
const maxSchemaDepth = 32;
const maxName = 256;

/**
 * Reads the form of the answer: `response_format` of chat completions, and `text.format` of
 * responses.
 */
export function readOutput(format: JsonObject | undefined, param: string): OutputForm | undefined {
  const type = format && own(format, "type");
  if (!format || type === undefined || type === "text") return undefined;
  if (type === "json_object") return { schema: { type: "object" } };
  if (type !== "json_schema")
    throw unsupported(`${param}.type`, `${param}.type must be text, json_object or json_schema.`);
  const inner = readObject(format, "json_schema", param);
  const [fields, at] = inner ? [inner, `${param}.json_schema`] : [format, param];
  const schema = readObject(fields, "schema", at);
  if (!schema) throw missing(`${at}.schema`);
  if (depthOf(schema, maxSchemaDepth) > maxSchemaDepth)
    throw unsupported(`${at}.schema`, `The schema may have at most ${maxSchemaDepth} levels.`);
  if (Buffer.byteLength(JSON.stringify(schema)) > maxSchemaBytes) {
    const message = "The schema may have at most 256 KiB as JSON.";
    throw refuse("too_large", message, { param: `${at}.schema` });
  }
  const name = readText(fields, "name", at)?.slice(0, maxName);
  return {
    schema: withoutPrototypes(schema),
    ...(name !== undefined && { name }),
    ...(own(fields, "strict") !== undefined && { strict: readFlag(fields, "strict", at) }),
  };
}

/** Reads the tools of the client in both forms. Tools of other types are left out. */
export function readTools(
  body: JsonObject,
  left: string[],
  { can }: Pick<Channels, "can">,
): ToolOffer {
  const tools = readItems(readOptionalList(body, "tools"), "tools", (tool, param) => {
    const inner = readObject(tool, "function", param);
    if (own(tool, "type") === "function")
      return readTool(inner ?? tool, inner ? `${param}.function` : param);
    left.push(param);
    return undefined;
  });
  const offer = boundTools(
    tools.filter((tool) => tool !== undefined),
    "tools",
  );
  const choice = own(body, "tool_choice");
  const toolChoice = readToolChoice(choice);
  const isApplied = can("tools") || toolChoice === "none" || toolChoice === "auto";
  if (choice !== undefined && (!isApplied || toolChoice === undefined)) left.push("tool_choice");
  if (offer.tools && !can("tools")) left.push("tools");
  return { ...offer, ...(toolChoice !== undefined && { toolChoice }) };
}
