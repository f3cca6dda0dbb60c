// Parses the body of a request for a response.
import { isObject } from "../../../lib/util.ts";
import type { Media, PreviousTurn } from "../../channels/index.ts";
import {
  invalidType,
  missing,
  own,
  readFlag,
  readObject,
  readText,
  unsupported,
  type JsonObject,
} from "../fields.ts";
import { readFile } from "../files.ts";
import { readApprovals, type Approvals } from "./approvals.ts";
import { readOutput } from "./fields.ts";
import { refuse } from "../errors.ts";
import {
  readCallId,
  readContent,
  readRole,
  toCall,
  readMessages,
  type PartReader,
  type SourceTurn,
} from "../turn.ts";
import {
  assertRequest,
  readFileFields,
  readImageUrl,
  readRequest,
  roles,
  type ParsedRequest,
} from "./request.ts";
import type { Protocol } from "../protocol.ts";
import type { OpenaiConfig } from "./config.ts";

export interface ParsedResponseRequest extends ParsedRequest {
  readonly instructions: string | undefined;
  readonly previousId: string | undefined;
  /** Answers to approvals at the end of the input. Then there is no message. */
  readonly approvals: Approvals | undefined;
  /** Echoed in the response. */
  readonly echo: JsonObject;
}

const appliedFields = new Set([
  "model",
  "input",
  "instructions",
  "stream",
  "previous_response_id",
  "user",
  "tools",
  "tool_choice",
]);

function readPart(part: JsonObject, param: string): string | Media | undefined {
  const type = own(part, "type");
  if (type === "input_text" || type === "output_text") return readText(part, "text", param);
  if (type === "input_image") return readImageUrl(part, "image_url", `${param}.image_url`);
  throw unsupported(`${param}.type`, `${param}.type must be input_text or input_image.`);
}

function readInputFile(part: JsonObject, param: string): Media {
  const url = readText(part, "file_url", param);
  if (url === undefined) return readFileFields(part, param);
  for (const other of ["file_id", "file_data"])
    if (readText(part, other, param) !== undefined)
      throw unsupported(param, `${param} must have only one of file_url, file_id and file_data.`);
  const place = `${param}.file_url`;
  const message = `${place} must be a data: URL. Doorward loads no files.`;
  if (!/^data:/i.test(url)) throw refuse("invalid_file", message, { param: place });
  const filename = readText(part, "filename", param);
  return readFile({ data: url, filename }, place);
}

/** Reads the id of a stored image. Its type is checked when the message takes it. */
function readStoredImage(part: JsonObject, param: string): Media | undefined {
  const id = readText(part, "file_id", param);
  if (id === undefined) return undefined;
  if ((own(part, "image_url") ?? null) !== null)
    throw unsupported(param, `${param} must have only one of image_url and file_id.`);
  return { type: "image", id };
}

const readPartOrFile: PartReader = (part, param) => {
  const type = own(part, "type");
  if (type === "input_file") return readInputFile(part, param);
  const stored = type === "input_image" ? readStoredImage(part, param) : undefined;
  return stored ?? readPart(part, param);
};

/** Items of the output that say nothing to the application. */
const skippedTypes: readonly unknown[] = [
  "reasoning",
  "item_reference",
  "mcp_approval_request",
  "mcp_approval_response",
];

/** Reads an item of the input. Returns undefined for one that is not a turn. */
function readItem(item: JsonObject, param: string, read: PartReader): PreviousTurn | undefined {
  switch (own(item, "type") ?? "message") {
    case "message":
      return { role: readRole(item, param, roles), ...readContent(item, param, read) };
    case "function_call": {
      const id = readText(item, "call_id", param);
      return { role: "assistant", content: "", toolCalls: [toCall(id, item, param)] };
    }
    case "function_call_output": {
      const content = readContent({ content: own(item, "output") }, `${param}.output`, read);
      return { role: "tool", ...content, ...readCallId(item, "call_id", param) };
    }
    default:
      return undefined;
  }
}

/** Calls in a row belong to one turn, as the application made them. */
function addTurn(turns: SourceTurn[], added: SourceTurn): void {
  const last = turns.at(-1);
  const calls = added.turn.toolCalls;
  if (!last || !calls || last.turn.role !== "assistant") return void turns.push(added);
  const toolCalls = [...(last.turn.toolCalls ?? []), ...calls];
  turns[turns.length - 1] = { ...last, turn: { ...last.turn, toolCalls } };
}

/** @param left - Receives the places of items and parts that cannot be passed on. */
function readInput(
  body: JsonObject,
  left: string[],
  readInputPart: PartReader,
): readonly SourceTurn[] {
  const input = own(body, "input") ?? [];
  if (typeof input === "string")
    return [{ turn: { role: "user", content: input }, param: "input" }];
  if (!Array.isArray(input)) throw invalidType("input", "a string or a list of items");
  if (input.length === 0) throw missing("input");
  const turns: SourceTurn[] = [];
  const read = (item: JsonObject, param: string, readOne: PartReader): void => {
    const turn = readItem(item, param, readOne);
    if (turn) addTurn(turns, { turn, param });
    else if (!skippedTypes.includes(own(item, "type"))) left.push(param);
  };
  readMessages(input, "input", { readPart: readInputPart, left, read });
  return turns;
}

/** @throws Refusal for the first field that is wrong. */
export function parseResponseRequest(
  body: JsonObject,
  { channels, config, media }: Protocol<OpenaiConfig>,
): ParsedResponseRequest {
  assertRequest(body, config());
  for (const key of ["conversation", "prompt"])
    if (own(body, key) !== undefined) throw unsupported(key, `The field ${key} cannot be used.`);
  if (readFlag(body, "background"))
    throw unsupported("background", "Responses cannot be made in the background.");
  const approvals = readApprovals(body);
  const left: string[] = [];
  const instructions = readText(body, "instructions");
  const system = { turn: { role: "system", content: instructions ?? "" }, param: "instructions" };
  const read = readInput(body, left, media ? readPartOrFile : readPart);
  // The answers take the place of a message, which the answer that they continue has already.
  const answer = { turn: { role: "user", content: "answer" }, param: "input" } as const;
  const added = approvals ? [...read, answer] : read;
  const turns = [...(instructions ? [system as SourceTurn] : []), ...added];
  const { format, ...shown } = readObject(body, "text") ?? {};
  if (format !== undefined && !isObject(format)) throw invalidType("text.format", "an object");
  const output = readOutput(format, "text.format");
  const { text, ...others } = body;
  const rest = Object.keys(shown).length > 0 ? { ...others, text: shown } : others;
  const options = { param: "input", applied: appliedFields, turns, left, channels, output };
  const request = readRequest(rest, options);
  return {
    ...request,
    includeUsage: true,
    instructions,
    approvals,
    previousId: readText(body, "previous_response_id"),
    echo: {
      metadata: own(body, "metadata") ?? {},
      user: request.user ?? null,
      ...(format && { text }),
    },
  };
}
