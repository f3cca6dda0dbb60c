// Shared by the plugins that offer the pico channel through HTTP protocols of other products.
export { type JsonBody } from "./body.ts";
export { commonSettings, settingMeta } from "./config.ts";
export { isCut, missingTokenText, statusOf, toEndRefusal, toPlainError } from "./errors.ts";
export {
  invalidType,
  missing,
  own,
  readFlag,
  readList,
  readObject,
  readText,
  unsupported,
  type JsonObject,
} from "./fields.ts";
export { type RunEnd, type RunMessage, type RunReader, type TextKind } from "./follow.ts";
export { readImage, toDataUrl, toMarkdown } from "./media.ts";
export { startProtocol, type Protocol } from "./protocol.ts";
export { Refusal } from "./refusal.ts";
export { type JoinedRun, type KeptRun } from "./runs.ts";
export {
  assertOpen,
  ProtocolServer,
  readCallBody,
  readOptionalBody,
  sessionOf,
  type Call,
  type JsonReply,
  type Route,
} from "./server.ts";
export { isMessageId, readHeader, readHops, shortDigest, toHeaderText } from "./session.ts";
export { EventWriter } from "./sse.ts";
export { streamRun, type StreamOptions } from "./stream.ts";
export { assertTurn, boundPrevious, joinParts, toMetadata, type Turn } from "./turn.ts";
