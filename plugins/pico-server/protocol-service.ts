// The access of other plugins to the sessions of the pico channel, for protocols of their own.
import type { Release } from "../../kernel/index.ts";
import type { Permission } from "../http/index.ts";
import type {
  AnswerEnd,
  AnswerResult,
  InboundMessage,
  OutboundMessage,
  OpenQuestion,
  QuestionAnswer,
  RunningMessage,
  Sender,
  Stopper,
  StopResult,
} from "../channels/index.ts";
import type { BodyMemory } from "./http/body-memory.ts";

/** Receives the messages of the application in one session, in the order of the session log. */
export interface ProtocolSubscriber {
  /** A message is new or has changed. `content` is its whole text; `isFinal` ends it. */
  written(id: string, message: OutboundMessage, isFinal: boolean): void;
  /** A message of a client was added to the conversation. */
  turned?(message: InboundMessage): void;
  /** A message was removed for all clients. */
  removed(id: string): void;
  /** The application failed after it had accepted this message. `ended` follows. */
  failed(requestId: string, error: unknown): void;
  /** The answer to this message has ended; all of its text came before. */
  ended(requestId: string, end: AnswerEnd): void;
}

/** The person or program of a request, with the rights that do not depend on the session. */
export interface Requester {
  readonly sender: Sender;
  /** Has the rights of the launcher token. */
  readonly owner: boolean;
  readonly mayAnswer: boolean;
  /** Their rights in their sessions. @defaultValue all */
  readonly may?: ReadonlySet<Permission> | undefined;
}

/** The access of one plugin to the sessions of the pico channel. */
export interface PicoProtocol {
  /** Delivers a message of a client. Rejects like `ChannelHandle.deliver`. */
  deliver(
    message: Omit<InboundMessage, "channel" | "protocol">,
    options: { readonly dedupe: boolean },
  ): Promise<"accepted" | "duplicate">;
  /**
   * Receives what the application sends to a session. The session counts as connected until then.
   *
   * @returns A function that ends the subscription.
   */
  subscribe(session: string, subscriber: ProtocolSubscriber): Release;
  /** Stops a message of the session, or all of them, like `ChannelHandle.stop`. */
  stop(session: string, id?: string, by?: Stopper): Promise<readonly StopResult[]>;
  /**
   * Answers a question of the session, as `ChannelHandle.answer` does. For a person who may not
   * answer, also because of the setting `answers`, every question is unknown.
   */
  answer(session: string, id: string, answer: QuestionAnswer, by: Requester): Promise<AnswerResult>;
  /** Lists the open questions of the session, as `ChannelHandle.questions` does. */
  questions(session: string): Promise<readonly OpenQuestion[] | undefined>;
  /** Lists the messages that the application works on, as `ChannelHandle.running` does. */
  running(session: string): Promise<readonly RunningMessage[] | undefined>;
  /** Resolves as `Channels.drained` does. */
  drained(): Promise<void>;
  /** Whether the text is a token, so that it must not become a session id. */
  isToken(text: string): Promise<boolean>;
  /** Begins to count the body of a request in the memory budget of unaccepted messages. */
  body(): BodyMemory;
}
