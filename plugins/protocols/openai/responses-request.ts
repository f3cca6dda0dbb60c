// Parses the body of a request for a response.
import type { Media, PreviousTurn } from "../../channels/index.ts";
import {
  invalidType,
  missing,
  own,
  readContent,
  readFlag,
  readItems,
  readRole,
  readText,
  Refusal,
  unsupported,
  type JsonObject,
} from "../index.ts";
import { assertRequest, readImageUrl, readRequest, roles, type ParsedRequest } from "./request.ts";

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

function readPart(part: JsonObject, param: string): string | Media | undefined {
  const type = own(part, "type");
  if (type === "input_text" || type === "output_text")
    return readText(part, "text", `${param}.text`);
  if (type === "input_image") return readImageUrl(part, "image_url", `${param}.image_url`);
  throw unsupported(`${param}.type`, `${param}.type must be input_text or input_image.`);
}

function readItem(item: JsonObject, param: string): PreviousTurn {
  const type = own(item, "type") ?? "message";
  if (type !== "message") throw unsupported(`${param}.type`, "Only items of messages are read.");
  return { role: readRole(item, param, roles), ...readContent(item, param, readPart) };
}

function readInput(body: JsonObject): readonly PreviousTurn[] {
  const input = own(body, "input") ?? [];
  if (typeof input === "string") return [{ role: "user", content: input }];
  if (!Array.isArray(input)) throw invalidType("input", "a string or a list of items");
  if (input.length === 0) throw missing("input");
  return readItems(input, "input", readItem);
}

/** @throws Refusal for the first field that is wrong. */
export function parseResponseRequest(body: JsonObject, model: string): ParsedResponseRequest {
  assertRequest(body, model);
  for (const key of ["conversation", "prompt"])
    if (own(body, key) !== undefined) throw unsupported(key, `The field ${key} cannot be used.`);
  if (readFlag(body, "background"))
    throw unsupported("background", "Responses cannot be made in the background.");
  const instructions = readText(body, "instructions");
  const system = instructions ? [{ role: "system", content: instructions } as const] : [];
  const turns = [...system, ...readInput(body)];
  const options = { param: "input", applied: appliedFields, turns, added: system.length };
  const request = readRequest(body, options);
  return {
    ...request,
    includeUsage: true,
    instructions,
    previousId: readText(body, "previous_response_id"),
    echo: { metadata: own(body, "metadata") ?? {}, user: request.user ?? null },
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
