// The codec of the Pico Protocol: frame types, encoding, decoding, limits and codes. It uses no
// sockets, timers or dependencies, and runs in browsers.
export { formatCursor, parseCursor, type Cursor } from "./cursor.ts";
export { decode, decodeAnswerRequest, decodeRequest, decodeStopRequest } from "./decode.ts";
export { decodeServer } from "./decode-server.ts";
export { encode } from "./encode.ts";
export { WireError } from "./errors.ts";
export { frameLimits } from "./frame-limits.ts";
export { limits } from "./limits.ts";
export { askedText, questionContent, readQuestion } from "./question.ts";
export type {
  AnswerPayload,
  QuestionAck,
  QuestionAckFrame,
  QuestionAnswerFrame,
  WireOption,
  WireQuestion,
  WireSettlement,
} from "./question.ts";
export {
  interpretClose,
  closeReason,
  parseCloseReason,
  closeCodes,
  messageErrors,
  gapReasons,
  rejections,
  type ReceivedClose,
  type ClientAction,
  type CloseName,
  type ErrorCode,
  type GapReason,
  type AnyCode,
  type RejectionCode,
} from "./codes.ts";
export { encodeUtf8, isId, isSessionId, parseObject } from "./json.ts";
export type {
  AckFrame,
  AnswerEndFrame,
  AnswerEndPayload,
  AppendFrame,
  AppendPayload,
  Attachment,
  Capability,
  ClientFrame,
  DeleteFrame,
  Envelope,
  ErrorFrame,
  ErrorPayload,
  FileReference,
  Frame,
  Gap,
  GapFrame,
  Hello,
  HelloFrame,
  InlineImage,
  MessageAckFrame,
  MessagePayload,
  MessageRequest,
  Notice,
  NoticeFrame,
  PongFrame,
  ReceivedFrame,
  Role,
  RunningRequest,
  ServerFrame,
  ServerMessage,
  ServerMessageFrame,
  SkippedAttachment,
  StopAckFrame,
  StopFrame,
  StoppedMessage,
  StreamPosition,
  TurnMedia,
  TypingFrame,
  UnknownFrame,
  UserTurn,
  UserTurnFrame,
} from "./messages.ts";
