// Checks what a host writes, where it enters: a wrong value must not reach a channel or a store.
import { types } from "node:util";
import * as z from "zod";
import { defined } from "../../lib/util.ts";
import { channelsErrors } from "./errors.ts";
import { hostCall, planEntry, toToolCall } from "./step-schema.ts";
import type { Address, EndOptions, GrowingMessage, Media, Question } from "./contract.ts";

/** No channel takes a longer text; most take far less. In UTF-16 units. */
export const maxText = 8 * 1_048_576;

const text = z.string().max(maxText, "the text is too long");
const flag = z.boolean().optional();
const count = z.number().optional();
const tokens = z.int().min(0).optional();
const name = z.string().max(1_024).optional();

/** A file: of `media.put`, which calls its type `contentType`, or described by the host. */
const attachment = z
  .object({
    id: z.string().max(128).optional(),
    type: z.string().max(256).optional(),
    contentType: z.string().max(256).optional(),
    url: z.string().optional(),
    filename: name,
    size: count,
    sha256: z.string().max(64).optional(),
    bytes: z.custom<Uint8Array>(types.isUint8Array, "expected a Uint8Array").optional(),
  })
  .refine(
    ({ id, url, bytes }) => [id, url, bytes].some((value) => value !== undefined),
    'a file needs "id", "bytes" or "url"',
  );

const endFields = {
  usage: z.object({ input: tokens, output: tokens, reasoning: tokens, cached: tokens }).optional(),
  finishReason: z.enum(["stop", "length", "content_filter", "stopped", "error"]).optional(),
  model: name,
  /** Those that are invalid are left out, with a warning. */
  suggestions: z.unknown().optional(),
};

const question = z.unknown().transform((value, context): Question | undefined => {
  try {
    return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as Question);
  } catch {
    context.addIssue({ code: "custom", message: "expected a question" });
    return undefined;
  }
});

const messageFields = {
  kind: z.enum(["thought", "tool_calls", "plan", "notice"]).optional(),
  placeholder: flag,
  toolCalls: z.array(hostCall).max(1_024).optional(),
  entries: z.array(planEntry).max(100).optional(),
  attachments: z.array(attachment).max(64).optional(),
  inReplyTo: name,
  contextUsage: z
    .object({
      used: z.number(),
      total: z.number(),
      history: count,
      compressAt: count,
      summarizeAt: count,
      usedPercent: count,
    })
    .optional(),
  ...endFields,
  question: question.optional(),
  hops: count,
  final: flag,
  added: text.optional(),
};

const messageSchema = z
  .object({ ...messageFields, content: text.nullish() })
  // Libraries of language models return tool calls without a text.
  .refine(
    ({ content, toolCalls, entries, attachments }) =>
      typeof content === "string" || [toolCalls, entries, attachments].some((part) => part?.length),
    { message: "expected a text", path: ["content"] },
  );

const streamSchema = z.object({
  kind: messageFields.kind,
  inReplyTo: name,
  model: name,
  cancelWhenAlone: z.union([z.boolean(), z.object({ afterMs: z.number().min(0) })]).optional(),
});

const lastSchema = z.object({
  ...endFields,
  attachments: messageFields.attachments,
  contextUsage: messageFields.contextUsage,
});

/** @throws reply_invalid, which names the field. */
function parse<S extends z.ZodType>(schema: S, call: string, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.join(".");
  const problem = issue?.message ?? "not a message";
  throw channelsErrors.reply_invalid(call, path ? `"${path}": ${problem}` : problem);
}

/** Most messages: a text with a few plain fields. A schema takes twenty times as long. */
function isPlain(message: object): message is GrowingMessage {
  const given = message as Readonly<Record<string, unknown>>;
  if (typeof given["content"] !== "string" || given["content"].length > maxText) return false;
  for (const key of Object.keys(given)) {
    const value = given[key];
    const isText = key === "inReplyTo" || key === "model";
    const isFlag = key === "final" || key === "placeholder";
    const expected = isText ? "string" : isFlag ? "boolean" : undefined;
    if (key !== "content" && (expected === undefined || typeof value !== expected)) return false;
    if (isText && (value as string).length > 1_024) return false;
  }
  return true;
}

/** `open` reads the file here; no channel needs it. */
const toMedia = ({ contentType, type, ...given }: z.output<typeof attachment>): Media =>
  defined({ ...given, type: type ?? contentType ?? "application/octet-stream" });

/**
 * Checks a message of the host, and returns it without unknown fields.
 *
 * @param call - The name of the call, for the error.
 * @throws reply_invalid, which names the field.
 */
export function checkMessage(call: string, message: unknown): GrowingMessage {
  if (typeof message === "object" && message !== null && isPlain(message)) return message;
  const { content: given } = Object(message) as Partial<GrowingMessage>;
  if (typeof given === "string" && given.length > maxText) throw channelsErrors.too_large();
  const { content, toolCalls, entries, attachments, contextUsage, usage, ...plain } = parse(
    messageSchema,
    call,
    message,
  );
  return defined({
    ...plain,
    content: content ?? "",
    toolCalls: toolCalls?.map((each) => toToolCall(each)),
    entries: entries?.map((entry) => defined(entry)),
    attachments: attachments?.map(toMedia),
    contextUsage: contextUsage && defined(contextUsage),
    usage: usage && defined(usage),
  }) as GrowingMessage;
}

/** @throws reply_invalid, which names the field. */
export function checkStream(options: unknown): z.output<typeof streamSchema> {
  return options === undefined ? {} : defined(parse(streamSchema, "stream", options));
}

/** @throws reply_invalid, which names the field. */
export function checkLast(last: unknown): Partial<GrowingMessage> {
  if (last === undefined) return {};
  const { attachments, contextUsage, usage, ...given } = parse(lastSchema, "end", last);
  return defined({
    ...given,
    attachments: attachments?.map(toMedia),
    contextUsage: contextUsage && defined(contextUsage),
    usage: usage && defined(usage),
  }) as Partial<GrowingMessage>;
}

const endSchema = z.object({
  usage: endFields.usage.catch(undefined),
  finishReason: endFields.finishReason.catch(undefined),
  model: endFields.model.catch(undefined),
  suggestions: endFields.suggestions,
});

/** @returns The valid facts about the end of an answer, and the names of the others. */
export function readEnd(options: unknown): {
  readonly end: EndOptions;
  readonly leftOut: readonly string[];
} {
  const result = endSchema.safeParse(options);
  if (!result.success) return { end: {}, leftOut: ["the whole argument"] };
  const { usage, ...facts } = result.data;
  const end = defined({ ...facts, usage: usage && defined(usage) }) as EndOptions;
  const given = Object.entries(options as object);
  const leftOut = given.filter(
    ([field, value]) => field in endSchema.shape && value !== undefined && !(field in end),
  );
  return { end, leftOut: leftOut.map(([field]) => field) };
}

/** @throws reply_invalid unless it names a channel and a session. */
export function checkAddress(call: string, to: unknown): asserts to is Address {
  const { channel, session } = Object(to) as Partial<Address>;
  const field = typeof channel !== "string" ? "channel" : "session";
  if (typeof channel !== "string" || typeof session !== "string")
    throw channelsErrors.reply_invalid(call, `the address needs "${field}", a text`);
}

/** @throws reply_invalid unless it is a text. */
export function checkId(call: string, id: unknown): asserts id is string {
  if (typeof id !== "string" || id === "")
    throw channelsErrors.reply_invalid(call, '"id": expected the id of a receipt');
}
