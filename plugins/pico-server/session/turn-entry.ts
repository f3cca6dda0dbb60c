// The message of a person as an entry of the session log.
import {
  encode,
  limits,
  type TurnMedia,
  type UserTurn,
  type UserTurnFrame,
} from "../../../lib/pico-wire/index.ts";
import type { InboundMessage, Media } from "../../channels/index.ts";
import type { LogEntry, SequencedEntry } from "../../conversations/index.ts";
import { frameText, type EncodedFrame } from "../frame-encoding.ts";

/** Bytes that images may take together, decoded, to be repeated to other clients. */
const maxMediaBytes = 256 * 1024;
/** Bytes of the fields around the content, roughly. */
const envelopeBytes = 320;

const sizeOfMedia = (media: readonly Media[]): number =>
  media.reduce((sum, { bytes, url }) => sum + (bytes?.byteLength ?? url?.length ?? 0), 0);

const urlOf = ({ type, bytes, url }: Media): string | undefined =>
  bytes ? `data:${type};base64,${Buffer.from(bytes).toString("base64")}` : url;

function toTurnMedia(media: Media, hasUrl: boolean): TurnMedia {
  const { type, filename } = media;
  const url = hasUrl ? urlOf(media) : undefined;
  return {
    content_type: type,
    ...(url !== undefined && { url }),
    ...(filename !== undefined && { filename }),
  };
}

/**
 * Encodes its frame when a client or a store reads it for the first time, because sessions without
 * either need none.
 */
export class TurnEntry implements LogEntry {
  readonly type = "message.user";
  readonly numbered = true;
  readonly final = true;
  readonly message = undefined;
  readonly framed = undefined;
  readonly request: string;
  readonly bytes: number;
  private readonly turn: InboundMessage;
  private readonly hasUrls: boolean;
  private readonly newId: () => string;
  private encoded: Buffer | undefined = undefined;

  constructor(turn: InboundMessage, newId: () => string) {
    const mediaBytes = turn.media.length === 0 ? 0 : sizeOfMedia(turn.media);
    this.hasUrls = mediaBytes <= maxMediaBytes;
    this.turn = this.hasUrls ? turn : { ...turn, media: turn.media.map(withoutData) };
    this.request = turn.id;
    this.bytes = envelopeBytes + turn.content.length + (this.hasUrls ? mediaBytes : 0);
    this.newId = newId;
  }

  get frame(): Uint8Array {
    return (this.encoded ??= this.encode());
  }

  private encode(): Buffer {
    const { turn, hasUrls } = this;
    const { id, content, media, sender, session, at, replaces } = turn;
    const payload: UserTurn = {
      message_id: this.newId(),
      request_id: id,
      content,
      media: media.map((medium) => toTurnMedia(medium, hasUrls)),
      attachments: [],
      ...(sender && { sender }),
      door: turn.door ?? "pico",
      ...(replaces !== undefined && { replaces }),
    };
    const frame: UserTurnFrame = {
      type: "message.user",
      payload,
      session_id: session,
      timestamp: at,
    };
    return fitFrame(frame);
  }
}

const withoutData = ({ type, filename }: Media): Media => ({
  type,
  ...(filename !== undefined && { filename }),
});

/** Cuts the text until the frame has at most 512 KiB. A cut divides no surrogate pair. */
function fitFrame(frame: UserTurnFrame): Buffer {
  let fitted = frame;
  for (;;) {
    const encoded = Buffer.from(encode(fitted));
    const over = encoded.byteLength - limits.outboundFrame;
    if (over <= 0) return encoded;
    const { content } = fitted.payload;
    const length = Math.min(content.length - 1, Math.floor(content.length / 2));
    const cut = content.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
    fitted = { ...frame, payload: { ...frame.payload, content: cut } };
  }
}

/**
 * Encodes a frame with the number of the turn, for clients of the extension that do not know turns:
 * it removes a message that they do not have.
 */
export function encodePlaceholder(entry: SequencedEntry): EncodedFrame {
  return frameText(encode({ ...placeholderOf(entry), ...entry.cursor }));
}

/** Encodes the same frame for an event, whose id is the number. */
export function placeholderText(entry: SequencedEntry): string {
  return encode(placeholderOf(entry));
}

function placeholderOf({ frame, session }: SequencedEntry) {
  const turn = JSON.parse(Buffer.from(frame).toString()) as UserTurnFrame;
  const payload = { message_id: turn.payload.message_id };
  return { type: "message.delete", payload, session_id: session } as const;
}
