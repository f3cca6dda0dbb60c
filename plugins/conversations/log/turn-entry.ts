// The message of a person as an entry of the session log.
import {
  encode,
  limits,
  type ServerMessageFrame,
  type TurnMedia,
  type UserTurn,
  type UserTurnFrame,
} from "../../../lib/pico-wire/index.ts";
import type { InboundMessage, Media, ToolResult } from "../messages.ts";
import type { LogEntry } from "./session-log.ts";

/** Bytes that images may take together, decoded, to be repeated to other clients. */
export const maxMediaBytes = 256 * 1024;

export const sizeOfMedia = (media: readonly Media[]): number =>
  media.reduce((sum, { bytes, url }) => sum + (bytes?.byteLength ?? url?.length ?? 0), 0);

const urlOf = ({ type, bytes, url }: Media): string | undefined =>
  bytes ? `data:${type};base64,${Buffer.from(bytes).toString("base64")}` : url;

const toWireResult = ({ id, name, content, isError }: ToolResult): WireResult => ({
  id,
  ...(name !== undefined && { name }),
  content,
  ...(isError && { is_error: true }),
});

/** The result of a tool in the frame of a turn. */
interface WireResult {
  readonly id: string;
  readonly name?: string;
  readonly content: string;
  readonly is_error?: boolean;
}

function toTurnMedia(media: Media, hasUrl: boolean): TurnMedia {
  const { type, filename, size, id } = media;
  const url = hasUrl || id !== undefined ? urlOf(media) : undefined;
  return {
    content_type: type,
    ...(url !== undefined && { url }),
    ...(filename !== undefined && { filename }),
    ...(size !== undefined && { size }),
  };
}

/** Creates the entry of a message. Images that take too much are only named. */
export function toTurnEntry(message: InboundMessage, newId: () => string): LogEntry {
  const hasUrls = message.media.length === 0 || sizeOfMedia(message.media) <= maxMediaBytes;
  const media = hasUrls ? message.media : message.media.map(withoutData);
  const { id, channel, content, sender, session, at, replaces, toolResults } = message;
  const payload: UserTurn = {
    message_id: newId(),
    request_id: id,
    content,
    media: media.map((medium) => toTurnMedia(medium, hasUrls)),
    attachments: [],
    ...(sender && { sender }),
    door: message.protocol ?? channel,
    ...(replaces !== undefined && { replaces }),
    ...(toolResults && { tool_results: toolResults.map(toWireResult) }),
  };
  const type = "message.user";
  const frame = fitFrame({ type, payload, session_id: session, timestamp: at });
  return { type, frame, numbered: true, final: true, request: id };
}

/** A stored file has a path, and no bytes in the message. */
const withoutData = (media: Media): Media => {
  const { type, filename, id } = media;
  return id === undefined ? { type, ...(filename !== undefined && { filename }) } : media;
};

/** A cut divides no surrogate pair. */
const halve = (text: string): string =>
  text
    .slice(0, Math.min(text.length - 1, Math.floor(text.length / 2)))
    .replace(/[\uD800-\uDBFF]$/, "");

/** @returns Undefined if the frame has no text that can be cut. */
function shorten<T extends UserTurnFrame | ServerMessageFrame>(frame: T): T | undefined {
  const payload: UserTurnFrame["payload"] | ServerMessageFrame["payload"] = frame.payload;
  const { content } = payload;
  if (content !== "") return { ...frame, payload: { ...payload, content: halve(content) } };
  const results = "tool_results" in payload ? (payload.tool_results as WireResult[]) : [];
  if (results.every((result) => result.content === "")) return undefined;
  const cut = results.map((result) => ({
    ...result,
    content: result.content && halve(result.content),
  }));
  return { ...frame, payload: { ...payload, tool_results: cut } };
}

/**
 * Cuts the text, and then the results of tools, until the frame has at most 512 KiB.
 *
 * @returns The encoded frame; without a text, it may be larger.
 */
export function fitFrame(frame: UserTurnFrame | ServerMessageFrame): Buffer {
  let fitted: typeof frame | undefined = frame;
  for (;;) {
    const encoded: Buffer = Buffer.from(encode(fitted));
    fitted = encoded.byteLength > limits.outboundFrame ? shorten(fitted) : undefined;
    if (!fitted) return encoded;
  }
}
