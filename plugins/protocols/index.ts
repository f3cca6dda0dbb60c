// Shared by the plugins that offer the pico channel through HTTP protocols of other products.
export { toAnswerResponse } from "../pico-server/http/post-answer.ts";
export { downloadRoutes } from "./downloads.ts";
export { answerQuestions, type ClientAnswer } from "./answers.ts";
export { commonSettings, disconnectSetting, enabledByDefault, settingMeta } from "./config.ts";
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
  withoutFields,
  type JsonObject,
} from "./fields.ts";
export { readFile, toFileRefusal, unknownFile, uploadsName } from "./files.ts";
export {
  type FollowOptions,
  type RunEnd,
  type RunMark,
  type RunMessage,
  type RunReader,
  type TextKind,
} from "./follower.ts";
export { readImage, toDataUrl, toMarkdown, type FileUrl } from "./media.ts";
export {
  isAllowed,
  markOfLast,
  toApproval,
  toChoice,
  toFacts,
  type RunQuestion,
} from "./questions.ts";
export { startProtocol, type Protocol, type ProtocolEvents } from "./protocol.ts";
export { refuse, type Refusal } from "./refusal.ts";
export {
  decodeName,
  openEvents,
  sessionOf,
  prepareTurn,
  startRun,
  stopAnswers,
  streamAnswer,
  withBody,
} from "./requests.ts";
export { type JoinedRun, type KeptRun } from "./runs.ts";
export { ProtocolServer, type Call, type JsonReply, type Route } from "./server.ts";
export { isMessageId, readHeader, shortDigest, toHeaderText, toIgnored } from "./session.ts";
export { type EventWriter } from "./sse.ts";
export { boundTools, readTool, readToolChoice, type ToolOffer } from "./tools.ts";
export { productOf } from "./user-agent.ts";
export {
  lenient,
  messageIndex,
  readCallId,
  readCalls,
  readContent,
  readItems,
  readName,
  readParts,
  readRole,
  requireImage,
  toCall,
  toTurn,
  type PartReader,
  type SourceTurn,
  type Turn,
} from "./turn.ts";
