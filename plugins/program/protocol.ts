// Format of the lines that a program reads and writes: Pico frames, in which `request_id` names
// the message that a line of the program refers to. Unknown keys are ignored.
import * as z from "zod";
import { defined, isObject } from "../../lib/util.ts";
import type {
  ContextUsage,
  EndOptions,
  Media,
  Message,
  OutboundMessage,
  PreviousTurn,
  ToolCall,
  ToolResult,
  Usage,
} from "../channels/index.ts";
import type { AnswerFile } from "./answer-files.ts";
import { toProgramMedia, type MessageFiles } from "./message-media.ts";
import { statusSchema } from "../channels/status-schema.ts";
import { planEntry, toolCall, toToolCall } from "./tool-call.ts";

const name = z.string().min(1).max(256);
const addressFields = { channel: name.optional(), session_id: name.optional() };
const attachmentFields = {
  type: z.string().optional(),
  filename: z.string().max(1_024).optional(),
  content_type: z.string().max(256).optional(),
};
/** A URL, the id of a stored file, or a path in DOORWARD_MEDIA. */
const attachment = z
  .object({
    ...attachmentFields,
    url: z.string().optional(),
    id: z.string().max(128).optional(),
    path: z.string().min(1).max(4_096).optional(),
  })
  .refine(
    ({ url, id, path }) => [url, id, path].some((value) => value !== undefined),
    'an attachment needs "url", "id" or "path"',
  );
const count = z.number().optional();
const contextUsage = z.object({
  used_tokens: z.number(),
  total_tokens: z.number(),
  history_tokens: count,
  compress_at_tokens: count,
  summarize_at_tokens: count,
  used_percent: count,
});
const tokenCount = z.int().min(0).optional().catch(undefined);
/** A program may use these names for something else, so another form counts as absent. */
const endFields = {
  usage: z
    .object({
      input_tokens: tokenCount,
      output_tokens: tokenCount,
      reasoning_tokens: tokenCount,
      cached_tokens: tokenCount,
    })
    .optional()
    .catch(undefined),
  finish_reason: z
    .enum(["stop", "length", "content_filter", "stopped", "error"])
    .optional()
    .catch(undefined),
  /** The channels leave out those that are invalid. */
  suggestions: z.array(z.unknown()).optional().catch(undefined),
};
const contentFields = {
  content: z.string().default(""),
  final: z.boolean().optional(),
  attachments: z.array(attachment).max(64).optional(),
  model_name: z.string().optional(),
  ...endFields,
  context_usage: contextUsage.optional(),
};

const stepFields = {
  tool_calls: z.array(toolCall).optional(),
  entries: z.array(planEntry).max(100).optional(),
};

const createSchema = z.object({
  type: z.literal("message.create"),
  ...addressFields,
  payload: z.object({
    ...contentFields,
    request_id: name.optional(),
    message_id: name.optional(),
    kind: z.enum(["thought", "tool_calls", "plan", "notice"]).optional(),
    placeholder: z.boolean().optional(),
    ...stepFields,
  }),
});
const updateSchema = z.object({
  type: z.literal("message.update"),
  payload: z.object({
    ...contentFields,
    message_id: name,
    ...stepFields,
  }),
});
const appendSchema = z.object({
  type: z.literal("message.append"),
  payload: z.object({
    ...endFields,
    message_id: name,
    content: z.string().default(""),
    final: z.boolean().optional(),
    model_name: z.string().optional(),
  }),
});
const deleteSchema = z.object({
  type: z.literal("message.delete"),
  payload: z.object({ message_id: name }),
});
const ackSchema = z.object({
  type: z.literal("message.ack"),
  payload: z.object({
    ...endFields,
    request_id: name,
    final: z.boolean().optional(),
    model_name: z.string().optional().catch(undefined),
  }),
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
const readySchema = z.object({
  type: z.literal("ready"),
  payload: z
    .object({
      can: z.array(z.string().max(64)).max(64).default([]),
      order: z.enum(["accepted", "ended"]).default("accepted"),
    })
    .prefault({}),
});

/** The channels check the question itself, so that the program learns what is wrong with it. */
const askSchema = z.object({
  type: z.literal("question.ask"),
  ...addressFields,
  payload: z.looseObject({ message_id: name, request_id: name.optional() }),
});
const withdrawSchema = z.object({
  type: z.literal("question.withdraw"),
  payload: z.object({ message_id: name }),
});

const pageFields = { limit: z.int().min(1).max(200).optional(), before: name.optional() };
const historySchema = z.object({
  type: z.literal("history.get"),
  id: name.optional(),
  ...addressFields,
  payload: z.object({ ...pageFields, request_id: name.optional() }).default({}),
});

const titleSchema = z.object({
  type: z.literal("conversation.title"),
  ...addressFields,
  payload: z.object({
    title: z.string().trim().min(1).max(200),
    request_id: name.optional(),
  }),
});

const statusFrameSchema = z.object({ type: z.literal("status"), payload: statusSchema });
const frameSchema = z.discriminatedUnion("type", [
  createSchema,
  updateSchema,
  appendSchema,
  deleteSchema,
  ackSchema,
  errorSchema,
  typingSchema,
  readySchema,
  historySchema,
  askSchema,
  withdrawSchema,
  titleSchema,
  statusFrameSchema,
]);
type StatusFrame = z.output<typeof statusFrameSchema>;
type ProgramFrame = z.output<typeof frameSchema>;
export type ReadyFrame = z.output<typeof readySchema>;
export type HistoryFrame = z.output<typeof historySchema>;
export type AskFrame = z.output<typeof askSchema>;
export type WithdrawFrame = z.output<typeof withdrawSchema>;
export type TitleFrame = z.output<typeof titleSchema>;
type OtherFrame = ReadyFrame | HistoryFrame | AskFrame | WithdrawFrame | TitleFrame | StatusFrame;
/** A line about a message. */
export type MessageFrame = Exclude<ProgramFrame, OtherFrame>;
export type AppendPayload = z.output<typeof appendSchema>["payload"];
export type CreateFrame = z.output<typeof createSchema>;
export type MessagePayload = CreateFrame["payload"] | z.output<typeof updateSchema>["payload"];

/** True if the line asks the client to run a tool. */
export const callsClient = (
  calls: readonly { readonly for?: "client" | undefined }[] = [],
): boolean => calls.some((call) => call.for === "client");

/** Lines of which another one follows before the reply ends. */
const endsNothing = ({ payload }: CreateFrame): boolean =>
  payload.final === false ||
  payload.placeholder === true ||
  (payload.kind !== undefined && !callsClient(payload.tool_calls));

/**
 * @param hasParts - True if the program answers in parts, so that no text ends its answer.
 * @returns True if no reply to the message of this line follows.
 */
export function endsReply(frame: MessageFrame, hasParts: boolean): boolean {
  if (frame.type === "message.create") return !hasParts && !endsNothing(frame);
  return frame.type === "error" || (frame.type === "message.ack" && frame.payload.final === true);
}

/** @returns The frame, or a sentence that says why the line is not a valid one. */
export function parseFrame(value: unknown): ProgramFrame | string {
  const result = frameSchema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.join(".");
  return `${path ? `"${path}": ` : ""}${issue?.message ?? "not a message"}`;
}

function toMedia({
  type,
  url,
  id,
  path,
  filename,
  content_type,
}: z.output<typeof attachment>): AnswerFile {
  const named = filename === undefined ? {} : { filename };
  if (url === undefined) {
    const file = id === undefined ? { path: path! } : { id };
    return { type: content_type ?? "application/octet-stream", ...file, ...named };
  }
  const [, inline, base64] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  if (inline !== undefined && base64 !== undefined)
    return { type: inline, bytes: Buffer.from(base64, "base64"), ...named };
  return { type: content_type ?? type ?? "application/octet-stream", url, ...named };
}

function toContextUsage(usage: z.output<typeof contextUsage>): ContextUsage {
  const { history_tokens: history, compress_at_tokens: compressAt } = usage;
  const { summarize_at_tokens: summarizeAt, used_percent: usedPercent } = usage;
  const { used_tokens: used, total_tokens: total } = usage;
  return defined({ used, total, history, compressAt, summarizeAt, usedPercent });
}

function toUsage(usage: z.output<typeof endFields.usage>): Usage | undefined {
  if (usage === undefined) return undefined;
  const { input_tokens: input, output_tokens: output } = usage;
  const { reasoning_tokens: reasoning, cached_tokens: cached } = usage;
  const known = defined({ input, output, reasoning, cached });
  return Object.keys(known).length > 0 ? known : undefined;
}

/** @returns The facts about the end of an answer that a line states. */
export function toEnd(payload: {
  readonly usage?: z.output<typeof endFields.usage>;
  readonly finish_reason?: z.output<typeof endFields.finish_reason>;
  readonly suggestions?: z.output<typeof endFields.suggestions>;
  readonly model_name?: string | undefined;
}): EndOptions {
  const { finish_reason: finishReason, model_name: model, suggestions } = payload;
  return defined({
    usage: toUsage(payload.usage),
    finishReason,
    model,
    suggestions: suggestions as readonly string[] | undefined,
  });
}

/** Converts the payload of a program into a message for a channel. */
export function toOutbound(payload: MessagePayload): OutboundMessage {
  const { content, attachments, model_name: model, context_usage: usage } = payload;
  const { tool_calls: calls, entries } = payload;
  const { kind, placeholder } = payload as CreateFrame["payload"];
  return {
    content,
    ...(kind && { kind }),
    ...(placeholder && { placeholder }),
    ...(calls && { toolCalls: calls.map(toToolCall) }),
    ...(entries && { entries: entries.map((entry) => defined(entry)) }),
    ...(attachments && { attachments: attachments.map(toMedia) }),
    ...(model !== undefined && { model }),
    ...(usage && { contextUsage: toContextUsage(usage) }),
  };
}

/**
 * @returns Type and filename of each entry of `media`, in the same order. Empty if no entry has a
 * filename.
 */
function mediaNames(media: readonly Media[]): object {
  if (media.every(({ filename }) => filename === undefined)) return {};
  const attachments = media.map(({ type, filename }) => ({ content_type: type, filename }));
  return { attachments };
}

/** Some readers treat these as line ends; `JSON.stringify` does not escape them. */
const separators = /[\u2028\u2029]/g;
const escapes: Readonly<Record<string, string>> = { "\u2028": "\\u2028", "\u2029": "\\u2029" };

/** How a message shows its files to the program. */
interface MediaForm {
  readonly files?: MessageFiles | undefined;
  /** True if the program reads files from paths. */
  readonly knowsMedia: boolean;
}

function mediaFields(media: readonly Media[], { files, knowsMedia }: MediaForm): object {
  if (media.length === 0) return {};
  return { ...toProgramMedia(media, files, knowsMedia), ...mediaNames(media) };
}

const toCallLine = ({ id, name: called, arguments: text, result, error }: ToolCall): object => ({
  id,
  type: "function",
  function: { name: called, arguments: text },
  ...defined({ result, error }),
});

function toTurn(turn: PreviousTurn, form: MediaForm): object {
  const { role, content, media = [], name: author, toolCalls, toolCallId } = turn;
  return {
    role,
    content,
    ...(toolCalls && { tool_calls: toolCalls.map(toCallLine) }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...mediaFields(media, form),
    ...(author !== undefined && { name: author }),
  };
}

/** @returns The frame as one line. */
export const encodeLine = (frame: object): string =>
  JSON.stringify(frame).replace(separators, (separator) => escapes[separator]!);

/** @returns The answer to a durable question, with the names of the lines. */
function toAnswer({ messageId, ...answer }: NonNullable<Message["answer"]>): object {
  return { message_id: messageId, ...answer };
}

const toResultLine = ({ id, name: called, content, isError }: ToolResult): object => ({
  id,
  ...(called !== undefined && { name: called }),
  content,
  ...(isError && { is_error: true }),
});

/** The tools of the client with their results, and the form that it wants. */
const toolFields = ({ tools, toolChoice, output, toolResults }: Message): object => ({
  ...(tools && { tools }),
  ...(toolChoice !== undefined && { tool_choice: toolChoice }),
  ...(output && { output }),
  ...(toolResults && { tool_results: toolResults.map(toResultLine) }),
});

/** @returns The message as a line for the program, which refers to it by `id`. */
export function encodeMessage(id: string, message: Message, form: MediaForm): string {
  const { channel, session, at, content, media, sender, hops } = message;
  const { replaces, protocol, previous = [], metadata, answer } = message;
  return encodeLine({
    type: "message.send",
    id,
    channel,
    session_id: session,
    timestamp: at,
    payload: {
      content,
      ...mediaFields(media, form),
      client_id: message.id,
      ...(replaces !== undefined && { replaces }),
      ...(sender !== undefined && { sender: { id: sender.id, name: sender.name } }),
      ...(protocol !== undefined && { door: protocol }),
      ...(previous.length > 0 && { previous: previous.map((turn) => toTurn(turn, form)) }),
      ...toolFields(message),
      ...(message.continues && { continue: true }),
      ...(metadata !== undefined && Object.keys(metadata).length > 0 && { metadata }),
      ...(hops > 0 && { hops }),
      ...(answer !== undefined && { answer: toAnswer(answer) }),
    },
  });
}

/** @returns The line that asks the program to stop the message it knows as `id`. */
export function encodeStop(id: string, message: Message, by: string | undefined): string {
  const { channel, session } = message;
  return encodeLine({
    type: "message.stop",
    id,
    channel,
    session_id: session,
    payload: { ...(by !== undefined && { by: { id: by } }), reason: "user" },
  });
}

/** The message that an invalid line refers to. */
export interface IntendedTarget {
  /** Identifier of the message that the line would reply to. */
  readonly request?: string | undefined;
  /** Identifier of the program's message that the line would complete. */
  readonly message?: string | undefined;
}

/** Accepts a number too, because programs often write identifiers as numbers. */
const toName = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" ? String(value) : undefined;

const replyTypes: readonly unknown[] = [
  "message.create",
  "message.update",
  "message.append",
  "message.ack",
  "error",
  undefined,
];

/**
 * @returns The message whose sender would wait in vain because this line is invalid. Empty for
 * lines that do not complete a reply, such as updates, thoughts and placeholders.
 */
export function intendedTarget(value: unknown): IntendedTarget {
  if (!isObject(value) || !replyTypes.includes(value["type"])) return {};
  const line = value;
  const payload = isObject(line["payload"]) ? line["payload"] : line;
  const isIncomplete = payload["final"] === false || payload["placeholder"] === true;
  if (payload["kind"] !== undefined || isIncomplete) return {};
  if (line["type"] === "message.ack" && payload["final"] === undefined) return {};
  if (line["type"] !== "message.update" && line["type"] !== "message.append")
    return { request: toName(payload["request_id"] ?? line["request_id"]) };
  return payload["final"] === undefined ? {} : { message: toName(payload["message_id"]) };
}

/**
 * Does the same for a line that is too long, given its beginning. Quotation marks inside a JSON
 * string are preceded by a backslash, so they do not match.
 */
export function intendedTargetOfPrefix(text: string): IntendedTarget {
  if (/(?<!\\)"(?:kind"|final"\s*:\s*false|placeholder"\s*:\s*true)/.test(text)) return {};
  return { request: /(?<!\\)"request_id"\s*:\s*"([^"\\]+)"/.exec(text)?.[1] };
}
