import type { Frame, Inline, MessagePayload } from "./messages.ts";

/** The text of a frame. Every frame that `decode` gives is read back equal. */
export function encode(frame: Frame): string {
  if (frame.type !== "message.send" && frame.type !== "media.send") return JSON.stringify(frame);
  return JSON.stringify({ ...frame, payload: writeMessage(frame.payload) });
}

const writeMessage = ({ content, media, hops }: MessagePayload): object => ({
  content,
  ...(media.length > 0 && { media: media.map(dataUrl) }),
  ...(hops > 0 && { hops }),
});

const dataUrl = ({ type, base64 }: Inline): string => `data:${type};base64,${base64}`;
