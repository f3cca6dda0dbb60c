// Reads turns from Pico server frames.
import { questionContent } from "../../lib/pico-wire/index.ts";
import { toLine, withoutMarkdown } from "../../lib/util.ts";
import type { Media, Sender, ToolResult } from "./messages.ts";
import { questionOf } from "./question-frames.ts";
import type { Turn } from "./contract.ts";

/** The entry that begins a turn, with the latest frame of the turn. */
interface TurnSource {
  readonly seq: number;
  readonly message: string | undefined;
  readonly isUser: boolean;
  readonly final: boolean;
  /** Unix milliseconds of the first entry. */
  readonly at: number;
  readonly frame: Uint8Array;
}

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const decoder = new TextDecoder();

/** @returns The payload of a frame; empty if it is not a JSON object. */
export function payloadOf(frame: Uint8Array): Fields {
  try {
    const parsed: unknown = JSON.parse(decoder.decode(frame));
    return isFields(parsed) && isFields(parsed.payload) ? parsed.payload : {};
  } catch {
    return {};
  }
}

/** Reads an image of a person (a data URL, or `{ type, base64 }`) or an attachment (`{ url }`). */
function mediaOf(value: unknown): Media[] {
  if (typeof value === "string") return mediaOf({ url: value });
  if (!isFields(value)) return [];
  const base64 = textOf(value.base64);
  const type = textOf(value.content_type) ?? textOf(value.type);
  const url = textOf(value.url) ?? (base64 && type && `data:${type};base64,${base64}`);
  if (!url) return [];
  const filename = textOf(value.filename);
  const id = url.startsWith("/") ? /\/pico\/media\/(m_[0-9a-f]{48})$/.exec(url)?.[1] : undefined;
  return [
    {
      type: type ?? /^data:([^;,]+)/.exec(url)?.[1] ?? "file",
      url,
      ...(filename !== undefined && { filename }),
      ...(id !== undefined && { id }),
      ...(typeof value.size === "number" && { size: value.size }),
    },
  ];
}

function senderOf(value: unknown): Sender | undefined {
  if (!isFields(value)) return undefined;
  const id = textOf(value.id);
  const name = textOf(value.name);
  return id === undefined ? undefined : { id, ...(name !== undefined && { name }) };
}

function resultOf(value: unknown): ToolResult[] {
  if (!isFields(value)) return [];
  const id = textOf(value.id);
  const name = textOf(value.name);
  if (id === undefined) return [];
  return [
    {
      id,
      ...(name !== undefined && { name }),
      content: textOf(value.content) ?? "",
      ...(value.is_error === true && { isError: true }),
    },
  ];
}

const kindOf = ({ kind, thought }: Fields): Turn["kind"] =>
  kind === "thought" || kind === "tool_calls" || kind === "plan" || kind === "notice"
    ? kind
    : thought === true
      ? "thought"
      : undefined;

/** The last frame of a text that a stop of the kernel cut says so. */
const endOf = ({ outcome, code }: Fields): Pick<Turn, "outcome" | "code"> =>
  outcome === "stopped" && typeof code === "string" ? { outcome, code } : {};

/**
 * Assembles a turn.
 *
 * @returns Undefined if its latest frame is a placeholder, which is not part of history.
 */
export function toTurn(source: TurnSource): Turn | undefined {
  const payload = payloadOf(source.frame);
  if (payload.placeholder === true) return undefined;
  const kind = source.isUser ? undefined : kindOf(payload);
  const request = textOf(payload.request_id);
  const toolCalls = kind === "tool_calls" ? listOf(payload.tool_calls) : [];
  const entries = kind === "plan" ? listOf(payload.entries) : [];
  const sender = source.isUser ? senderOf(payload.sender) : undefined;
  const door = source.isUser ? textOf(payload.door) : undefined;
  const replaces = source.isUser ? textOf(payload.replaces) : undefined;
  const model = textOf(payload.model_name);
  const question = source.isUser ? undefined : questionOf(payload);
  const content = textOf(payload.content) ?? "";
  const toolResults = source.isUser ? listOf(payload.tool_results).flatMap(resultOf) : [];
  const author = toolResults.length > 0 ? "tool" : "user";
  const attachments = [...listOf(payload.media), ...listOf(payload.attachments)].flatMap(mediaOf);
  return {
    id: source.message ?? textOf(payload.message_id) ?? "",
    seq: source.seq,
    role: source.isUser ? author : "assistant",
    content: question ? questionContent(content) : content,
    ...(kind && { kind }),
    ...(!source.final && { complete: false as const, ...endOf(payload) }),
    ...(request !== undefined && (source.isUser ? { requestId: request } : { inReplyTo: request })),
    ...(replaces !== undefined && { replaces }),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(entries.length > 0 && { entries }),
    ...(toolResults.length > 0 && { toolResults }),
    ...(sender && { sender }),
    ...(door !== undefined && { door }),
    ...(attachments.length > 0 && { attachments }),
    ...(model !== undefined && { model }),
    ...(question && { question }),
    at: source.at,
  };
}

const maxPreview = 120;

/** @returns The latest text among turns without markup, in one line; undefined without a text. */
export function toPreview(turns: readonly Turn[]): string | undefined {
  const isText = ({ kind, content }: Turn) => kind === undefined && content.trim() !== "";
  const text = (turns.findLast(isText)?.content ?? "").slice(0, 20 * maxPreview);
  const line = toLine(withoutMarkdown(text)) || toLine(text);
  return [...line].slice(0, maxPreview).join("") || undefined;
}

/** @returns Where the latest message of a person came from. */
export function toOrigin(turns: readonly Turn[]): Pick<Turn, "door" | "sender"> {
  const { door, sender } = turns.findLast(({ role }) => role === "user") ?? {};
  return { ...(door !== undefined && { door }), ...(sender && { sender }) };
}

const maxTitle = 80;

/** @returns The first words of a text without markup: at most 80 characters in one line. */
export function toTitle(text: string): string {
  const line = toLine(withoutMarkdown(text.slice(0, 20 * maxTitle)));
  const points = [...line];
  if (points.length <= maxTitle) return line;
  const cut = points.slice(0, maxTitle - 1).join("");
  const space = cut.lastIndexOf(" ");
  return `${space > maxTitle / 2 ? cut.slice(0, space) : cut}…`;
}

const maxChosenTitle = 200;

/** @returns A title that a person or the application chose: one line of at most 200 characters. */
export const toShortTitle = (title: string): string =>
  [...toLine(title)].slice(0, maxChosenTitle).join("");
