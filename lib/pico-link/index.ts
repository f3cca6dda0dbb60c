// The client library: it connects to a channel, reconnects, and loses no message. `step` contains
// the logic as a pure function of state, event and time; `createLink` runs its effects on a socket
// and timers; `createDialer` opens sockets. It depends on the codec only and runs in browsers.
export { httpUrl, retryAfterMs, type Dial, type SocketListener } from "./dial.ts";
export { type ChatError } from "./errors.ts";
export {
  fetchMedia,
  readHistory,
  type HistoryOptions,
  type HistoryPage,
  type HistoryTurn,
  type HttpSource,
  type MediaLimits,
} from "./http.ts";
export * as limits from "./limits.ts";
export { createLink } from "./link.ts";
export { initialData } from "./step-context.ts";
export type { ChatAnswer, ChatAnswered, ChatQuestion } from "./questions.ts";
export type {
  ChatEnd,
  StoppedAnswer,
  Driver,
  Link,
  ChatHandlers,
  Clock,
  LinkData,
  Effect,
  ChatStateChange,
  LinkEvent,
  ChatGap,
  ChatMessage,
  ChatNotifications,
  ChatReceipt,
  ChatState,
  ChatToolCall,
  ChatTurn,
  LinkState,
  HandshakeRejection,
} from "./types.ts";
export { nextAt, step } from "./step.ts";
