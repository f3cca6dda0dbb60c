// Dependencies of all messages in the application.
import type { Awaitable, Clock, Log, Release } from "../../kernel/index.ts";
import type {
  AnswerEnd,
  Application,
  ApplicationOptions,
  Channels,
  InboundMessage,
} from "./contract.ts";
import type { Deletions } from "./deletions.ts";
import type { OpenReplies } from "./open-replies.ts";
import type { Questions } from "./questions.ts";
import type { ReplyStreams } from "./reply-streams.ts";

/** The application, and the facts about it that all messages need. */
export interface ActiveApplication {
  readonly application: Application;
  /** Aborts when the kernel stops. */
  readonly signal: AbortSignal;
  /** The next message of a session waits for the end of the answer. */
  readonly isOrdered: boolean;
  /** How long a stopped message may occupy its session. */
  readonly stopGraceMs: number;
  readonly withdraw: ApplicationOptions["withdraw"];
}

/** Dependencies of all messages in the application. */
export interface RunOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Counts only the time in which the process runs. */
  readonly afterRunning: (ms: number, run: () => void) => Release;
  readonly send: Channels["send"];
  readonly update: Channels["update"];
  readonly openReplies: Pick<OpenReplies, "cut" | "forget">;
  /**
   * Removes the answer that an earlier process left of this message.
   *
   * @returns True if the conversation has the message.
   */
  readonly retract: (message: InboundMessage) => Promise<boolean>;
  readonly stream: ReplyStreams["open"];
  readonly history: Channels["history"];
  /** Opens a stored file of a message; absent if this deployment keeps no files. */
  readonly openFile?: ((id: string) => Promise<AsyncIterable<Uint8Array>>) | undefined;
  readonly questions: Pick<Questions, "ask" | "closeRun">;
  /** Receives errors thrown by the callbacks of a channel. */
  readonly outcomeFailed: (error: unknown) => void;
  readonly deletions: Deletions;
  readonly current: () => ActiveApplication | undefined;
  /** Runs when the application fails after it has accepted the message. */
  readonly failed: (message: InboundMessage, error: unknown) => void;
  /** Adds the message to the conversation. */
  readonly turn: (message: InboundMessage) => Awaitable<void>;
  /** True if a store keeps the messages of this channel, so that its turn comes immediately. */
  readonly keepsTurns: (channel: string) => boolean;
  /** The conversation has the message, which is handled again if it is rejected and repeated. */
  readonly begun: (message: InboundMessage) => void;
  /** Runs once, after the handler has settled and all its streams have ended. Never rejects. */
  readonly ended: (message: InboundMessage, end: AnswerEnd, durationMs: number) => Awaitable<void>;
  /** Runs when a message is stopped that is in the conversation and had not begun. */
  readonly withdrawn: (message: InboundMessage, error?: unknown) => void;
  /** Runs when a stopped message has not ended in time. */
  readonly stopTimedOut: (message: InboundMessage, seconds: number) => void;
}
