// The message of a person as an entry of the session log.
import {
  encode,
  limits,
  type ServerMessageFrame,
  type TurnMedia,
  type UserTurn,
  type UserTurnFrame,
} from "../../../lib/pico-wire/index.ts";
import type { InboundMessage, Media } from "../messages.ts";
import type { LogEntry } from "./session-log.ts";

/** Bytes that images may take together, decoded, to be repeated to other clients. */
export const maxMediaBytes = 256 * 1024;
/** Bytes of the fields around the content, roughly. */
const envelopeBytes = 320;

export const sizeOfMedia = (media: readonly Media[]): number =>
  media.reduce((sum, { bytes, url }) => sum + (bytes?.byteLength ?? url?.length ?? 0), 0);

const urlOf = ({ type, bytes, url }: Media): string | undefined =>
  bytes ? `data:${type};base64,${Buffer.from(bytes).toString("base64")}` : url;

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
    const { id, channel, content, media, sender, session, at, replaces } = turn;
    const payload: UserTurn = {
      message_id: this.newId(),
      request_id: id,
      content,
      media: media.map((medium) => toTurnMedia(medium, hasUrls)),
      attachments: [],
      ...(sender && { sender }),
      door: turn.protocol ?? channel,
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

/** A stored file has a path, and no bytes in the message. */
const withoutData = (media: Media): Media => {
  const { type, filename, id } = media;
  return id === undefined ? { type, ...(filename !== undefined && { filename }) } : media;
};

/**
 * Cuts the text until the frame has at most 512 KiB. A cut divides no surrogate pair.
 *
 * @returns The encoded frame; without a text, it may be larger.
 */
export function fitFrame(frame: UserTurnFrame | ServerMessageFrame): Buffer {
  let fitted = frame;
  for (;;) {
    const encoded = Buffer.from(encode(fitted));
    const over = encoded.byteLength - limits.outboundFrame;
    const { content } = fitted.payload;
    if (over <= 0 || content === "") return encoded;
    const length = Math.min(content.length - 1, Math.floor(content.length / 2));
    const cut = content.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
    fitted = { ...frame, payload: { ...frame.payload, content: cut } } as typeof frame;
  }
}
