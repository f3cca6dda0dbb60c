/* The Pico Protocol as data and pure functions: what a frame may say, how it is read and written, why a request,
 * a message or a connection is refused. No socket, no timer, no dependency; it runs in browsers as it is. */
export { decode, decodeRequest } from "./decode.ts";
export { encode } from "./encode.ts";
export { WireError } from "./errors.ts";
export { limits } from "./limits.ts";
export { closeFor, closeReason, parseCloseReason, type Close } from "./closes.ts";
export {
  closes, errors, refusals,
  type Afterwards, type CloseName, type ErrorCode, type Reason, type RefusalCode,
} from "./reasons.ts";
export { byteLength, isSessionId } from "./text.ts";
export type {
  Attachment, ClientFrame, ErrorFrame, ErrorPayload, Envelope, Frame, Inline, MessagePayload, MessageRequest, Party,
  PongFrame, ServerFrame, ServerMessage, ServerMessageFrame, TypingFrame,
} from "./messages.ts";
