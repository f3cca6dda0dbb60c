// Parses the body of a request for a response.
import { isObject } from "../../lib/util.ts";
import type { Media, PreviousTurn } from "../channels/index.ts";
import {
  assertTurn,
  boundPrevious,
  invalidType,
  joinParts,
  missing,
  own,
  readFlag,
  readText,
  Refusal,
  toMetadata,
  unsupported,
  type JsonObject,
} from "../doors/index.ts";
import { assertFields, splitIgnored } from "./fields.ts";
import { assertModel, readImageUrl, readRole, type ParsedRequest } from "./request.ts";

export interface ParsedResponseRequest extends ParsedRequest {
  readonly instructions: string | undefined;
  readonly previousId: string | undefined;
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
]);

function readPart(part: unknown, param: string): string | Media | undefined {
  if (!isObject(part)) throw invalidType(param, "an object");
  const type = own(part, "type");
  if (type === "input_text" || type === "output_text")
    return readText(part, "text", `${param}.text`);
  if (type === "input_image") return readImageUrl(own(part, "image_url"), `${param}.image_url`);
  throw unsupported(`${param}.type`, `${param}.type must be input_text or input_image.`);
}

function readItem(item: unknown, index: number): PreviousTurn {
  const param = `input[${index}]`;
  if (!isObject(item)) throw invalidType(param, "an object");
  const type = own(item, "type") ?? "message";
  if (type !== "message") throw unsupported(`${param}.type`, "Only items of messages are read.");
  const role = readRole(item, param);
  const content = own(item, "content") ?? "";
  if (typeof content === "string") return { role, content };
  if (!Array.isArray(content)) throw invalidType(`${param}.content`, "a string or a list of parts");
  const parts = content.map((part, at) => readPart(part, `${param}.content[${at}]`));
  const { content: text, media } = joinParts(parts, `${param}.content`);
  return { role, content: text, ...(media.length > 0 && { media }) };
}

function readInput(body: JsonObject): readonly PreviousTurn[] {
  const input = own(body, "input");
  if (input === undefined) throw missing("input");
  if (typeof input === "string") return [{ role: "user", content: input }];
  if (!Array.isArray(input)) throw invalidType("input", "a string or a list of items");
  if (input.length === 0) throw missing("input");
  return input.map(readItem);
}

/** @throws Refusal for the first field that is wrong. */
export function parseResponseRequest(body: JsonObject, model: string): ParsedResponseRequest {
  assertModel(body, model);
  assertFields(body);
  for (const key of ["conversation", "prompt"])
    if (own(body, key) !== undefined) throw unsupported(key, `The field ${key} cannot be used.`);
  if (readFlag(body, "background"))
    throw unsupported("background", "Responses cannot be made in the background.");
  const turns = readInput(body);
  const last = turns.at(-1)!;
  assertTurn(last, `input[${turns.length - 1}]`);
  const instructions = readText(body, "instructions");
  const system = instructions ? [{ role: "system", content: instructions } as const] : [];
  const { previous, cut } = boundPrevious([...system, ...turns.slice(0, -1)]);
  const user = readText(body, "user");
  const { ignored, rest } = splitIgnored(body, appliedFields);
  return {
    content: last.content,
    media: last.media ?? [],
    previous,
    stream: readFlag(body, "stream"),
    includeUsage: true,
    user,
    metadata: toMetadata({ key: "openai", rest, user, cut }),
    ignored,
    messageCount: turns.length + system.length,
    instructions,
    previousId: readText(body, "previous_response_id"),
    echo: { metadata: own(body, "metadata") ?? {}, user: user ?? null },
  };
}

/** Response -> name of its session: the last 1,000, for an hour. */
export class ResponseSessions {
  private readonly sessions = new Map<string, { readonly name: string; readonly at: number }>();
  private readonly now: () => number;

  /** @param now - Monotonic time in milliseconds. */
  constructor(now: () => number) {
    this.now = now;
  }

  add(id: string, name: string): void {
    this.sessions.set(id, { name, at: this.now() });
    const [oldest] = this.sessions.keys();
    if (this.sessions.size > 1_000 && oldest !== undefined) this.sessions.delete(oldest);
  }

  /** @throws Refusal if the response is not known. */
  find(id: string): string {
    const known = this.sessions.get(id);
    if (known && this.now() - known.at < 3_600_000) return known.name;
    const message = "There is no response of this id, or it is older than an hour.";
    throw new Refusal("previous_response_not_found", message, { param: "previous_response_id" });
  }
}
