/** Events of the channels plugin. */
import type { Address, AnswerEnd, Receipt, QuestionSettlement, Question } from "./contract.ts";

/** The events, by name. */
export type ChannelsEvents = {
  /** A channel delivered a message; emitted before the application runs, not for duplicates.
   *  Without content. */
  "channels:message-received": Address & {
    /** Id of the message within its session, as in `InboundMessage`. */
    readonly id: string;
    /** Id of the sender, if the channel knows it. */
    readonly sender?: string;
    /**
     * Size of the content as UTF-8 plus its media. A medium without bytes counts the characters of
     * its URL.
     */
    readonly bytes: number;
    /** Unix milliseconds at which the message arrived. */
    readonly at: number;
  };
  /** The answer to a message ended: the application has returned and its streams have ended. */
  "channels:answer-ended": Address &
    Pick<AnswerEnd, "outcome" | "code"> & {
      /** Id of the message that was answered. */
      readonly id: string;
      /** Id of its sender, if the channel knows it. */
      readonly sender?: string;
      /** Name of the protocol that the message arrived through. */
      readonly protocol?: string;
      /** Milliseconds since the message arrived. */
      readonly ms: number;
      /** Unix milliseconds. */
      readonly at: number;
    };
  /** The application asked a question. Without content. */
  "channels:question-asked": Address & {
    /** Id of the question. */
    readonly id: string;
    /** Its kind. */
    readonly kind: Question["kind"];
  };
  /** A question was settled. Without content. */
  "channels:question-settled": Address &
    Pick<QuestionSettlement, "outcome" | "via"> & {
      /** Id of the question. */
      readonly id: string;
      /** Id of the person, if known. */
      readonly by?: string;
      /** Milliseconds since it was asked. */
      readonly ms: number;
    };
  /** No application could accept the answer to a durable question yet. It is delivered again. */
  "channels:answer-waits": Address & {
    /** Id of the question. */
    readonly id: string;
  };
  /** A client asked to stop a message. */
  "channels:stop-asked": Address & {
    /** Id of the message that is stopped. */
    readonly id: string;
    /** Id of the person who stopped it, if known. */
    readonly by?: string;
    /** Name of the protocol that the message arrived through. */
    readonly protocol?: string;
  };
  /** The application has not ended a stopped message in time. */
  "channels:stop-timed-out": Address & {
    /** Id of the message that was stopped. */
    readonly id: string;
    /** Seconds since the stop. */
    readonly seconds: number;
  };
  /** A client began or stopped typing. */
  "channels:typing-changed": Address & {
    /** True while the client types. */
    readonly on: boolean;
  };
  /** The conversation of a session is being deleted. Its answers have ended. */
  "channels:session-cleared": Address;
  /** The deletion of a conversation has ended or failed. */
  "channels:deletion-ended": Address;
  /** The first client of a session connected. */
  "channels:session-joined": Address;
  /** The last client of a session disconnected. */
  "channels:session-left": Address;
  /** The status of a sent message advanced. */
  "channels:receipt-changed": Address & Receipt;
  /** The application says something else about itself: see `applicationStatus`. */
  "channels:application-changed": Readonly<Record<never, never>>;
  /** Another node that shares the store has asked or settled a question. */
  "channels:questions-changed": Readonly<Record<never, never>>;
};
