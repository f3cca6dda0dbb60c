import * as z from "zod";
import type { ContextUsage, Media, Message, OutboundMessage } from "../channels/index.ts";
import { isObject } from "../../lib/util.ts";

/* A line of the program: what a Pico server says, with the `request_id` of the message it is about. Unknown keys are
 * ignored. */

const name = z.string().min(1).max(256);
const addressFields = { channel: name.optional(), session_id: name.optional() };
const attachment = z.object({
  type: z.string().optional(),
  url: z.string(),
  filename: z.string().max(1_024).optional(),
  content_type: z.string().optional(),
});
const count = z.number().optional();
const contextUsage = z.object({
  used_tokens: z.number(),
  total_tokens: z.number(),
  history_tokens: count,
  compress_at_tokens: count,
  summarize_at_tokens: count,
  used_percent: count,
});
const toolCall = z.object({
  id: z.string(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});
const contentFields = {
  content: z.string().default(""),
  final: z.boolean().optional(),
  attachments: z.array(attachment).max(64).optional(),
  model_name: z.string().optional(),
  context_usage: contextUsage.optional(),
};

const createSchema = z.object({
  type: z.literal("message.create"),
  ...addressFields,
  payload: z.object({
    ...contentFields,
    request_id: name.optional(),
    message_id: name.optional(),
    kind: z.enum(["thought", "tool_calls"]).optional(),
    placeholder: z.boolean().optional(),
    tool_calls: z.array(toolCall).optional(),
  }),
});
const updateSchema = z.object({
  type: z.literal("message.update"),
  payload: z.object({ ...contentFields, message_id: name }),
});
const deleteSchema = z.object({
  type: z.literal("message.delete"),
  payload: z.object({ message_id: name }),
});
const ackSchema = z.object({
  type: z.literal("message.ack"),
  payload: z.object({ request_id: name, final: z.boolean().optional() }),
});
const errorSchema = z.object({
  type: z.literal("error"),
  payload: z.object({ request_id: name, message: z.string().optional() }),
});
const typingSchema = z.object({
  type: z.enum(["typing.start", "typing.stop"]),
  ...addressFields,
  payload: z.object({ request_id: name.optional() }).default({}),
});

const frameSchema = z.discriminatedUnion("type", [
  createSchema,
  updateSchema,
  deleteSchema,
  ackSchema,
  errorSchema,
  typingSchema,
]);
export type ProgramFrame = z.output<typeof frameSchema>;
export type CreateFrame = z.output<typeof createSchema>;
export type MessagePayload = CreateFrame["payload"] | z.output<typeof updateSchema>["payload"];

/** A sentence says why it cannot be read. */
export function parseFrame(value: unknown): ProgramFrame | string {
  const result = frameSchema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.join(".");
  return `${path ? `"${path}": ` : ""}${issue?.message ?? "not a message"}`;
}

function media({ type, url, filename, content_type }: z.output<typeof attachment>): Media {
  const named = filename === undefined ? {} : { filename };
  const [, inline, base64] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  if (inline !== undefined && base64 !== undefined)
    return { type: inline, bytes: Buffer.from(base64, "base64"), ...named };
  return { type: content_type ?? type ?? "application/octet-stream", url, ...named };
}

function usageOf(usage: z.output<typeof contextUsage>): ContextUsage {
  const { history_tokens: history, compress_at_tokens: compressAt } = usage;
  const { summarize_at_tokens: summarizeAt, used_percent: usedPercent } = usage;
  return {
    used: usage.used_tokens,
    total: usage.total_tokens,
    ...(history !== undefined && { history }),
    ...(compressAt !== undefined && { compressAt }),
    ...(summarizeAt !== undefined && { summarizeAt }),
    ...(usedPercent !== undefined && { usedPercent }),
  };
}

export function toOutbound(payload: MessagePayload): OutboundMessage {
  const { content, attachments, model_name: model, context_usage: usage } = payload;
  const { kind, tool_calls: calls, placeholder } = payload as CreateFrame["payload"];
  return {
    content,
    ...(kind && { kind }),
    ...(placeholder && { placeholder }),
    ...(calls && {
      toolCalls: calls.map(({ id, function: { name: called, arguments: text } }) => ({
        id,
        name: called,
        arguments: text,
      })),
    }),
    ...(attachments && { attachments: attachments.map(media) }),
    ...(model !== undefined && { model }),
    ...(usage && { contextUsage: usageOf(usage) }),
  };
}

function urlOf({ type, bytes, url }: Media): string | undefined {
  return bytes ? `data:${type};base64,${Buffer.from(bytes).toString("base64")}` : url;
}

/** What the URLs of `media` do not say, in the same order; absent if no medium has a filename. */
function attachmentsOf(media: readonly Media[]): object {
  if (media.every(({ filename }) => filename === undefined)) return {};
  const attachments = media.map(({ type, filename }) => ({ content_type: type, filename }));
  return { attachments };
}

/** Ends of lines for some readers, newer Node among them; JSON leaves them as they are. */
const separators = /[\u2028\u2029]/g;
const escapes: Readonly<Record<string, string>> = { "\u2028": "\\u2028", "\u2029": "\\u2029" };

/** A message as a line for the program, which names it by `id`. */
export function encodeMessage(id: string, message: Message): string {
  const { channel, session, at, content, media, sender, hops } = message;
  const line = JSON.stringify({
    type: "message.send",
    id,
    channel,
    session_id: session,
    timestamp: at,
    payload: {
      content,
      ...(media.length > 0 && { media: media.map(urlOf), ...attachmentsOf(media) }),
      client_id: message.id,
      ...(sender !== undefined && { sender }),
      ...(hops > 0 && { hops }),
    },
  });
  return line.replace(separators, (separator) => escapes[separator]!);
}

/** What a line that is no message was meant to answer. */
export interface IntendedTarget {
  /** A message it was given. */
  readonly request?: string | undefined;
  /** One of its own, which grew. */
  readonly message?: string | undefined;
}

type FieldMap = Readonly<Record<string, unknown>>;
const asFields = (value: unknown): FieldMap | undefined =>
  isObject(value) ? (value as FieldMap) : undefined;
/** A number is a slip that is easily made. */
const nameOf = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" ? String(value) : undefined;

const kinds: readonly unknown[] = ["message.create", "message.update", "error", undefined];

/** Whoever waits for this answer waits for nothing. What comes on the way to an answer is none. */
export function intendedTarget(value: unknown): IntendedTarget {
  const line = asFields(value);
  if (!line || !kinds.includes(line["type"])) return {};
  const payload = asFields(line["payload"]) ?? line;
  const isOnTheWay = payload["final"] === false || payload["placeholder"] === true;
  if (payload["kind"] !== undefined || isOnTheWay) return {};
  if (line["type"] !== "message.update")
    return { request: nameOf(payload["request_id"] ?? line["request_id"]) };
  return payload["final"] === undefined ? {} : { message: nameOf(payload["message_id"]) };
}

/** The same of a line that is too long, from its beginning. A quotation mark inside a text has a backslash. */
export function intendedTargetOfPrefix(text: string): IntendedTarget {
  if (/(?<!\\)"(?:kind"|final"\s*:\s*false|placeholder"\s*:\s*true)/.test(text)) return {};
  return { request: /(?<!\\)"request_id"\s*:\s*"([^"\\]+)"/.exec(text)?.[1] };
}
