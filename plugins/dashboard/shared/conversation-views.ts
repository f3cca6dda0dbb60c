// JSON types of the conversation endpoints, shared with the browser code.
import type { RequestTimes, StopResult } from "../../channels/index.ts";
import type {
  ConversationSummary as StoredSummary,
  SearchHit,
  StoreHealth,
  Turn,
} from "../../conversations/index.ts";

/** The times of one message, in `GET /api/requests`. */
export interface RequestView extends Omit<RequestTimes, "protocol"> {
  /** Name of the protocol that the message arrived through. */
  readonly door?: string;
}
export type { SearchHit, Turn };

/** The flags that a person gives a conversation, for all devices. */
export type FlagName = "pinned" | "archived";

/** A conversation with its flags. */
export interface ConversationSummary extends StoredSummary {
  /** At the top of the list. */
  readonly pinned?: true;
  /** Not in the list, until it is used again. */
  readonly archived?: true;
}

/** Body of `GET /api/conversations`. */
export interface ConversationsView {
  /** The latest used first. */
  readonly conversations: readonly ConversationSummary[];
  /** Pass it as `before` to read the next page; absent on the last one. */
  readonly before?: string;
  readonly store: StoreHealth;
  /** Conversations can be pinned and archived. */
  readonly keepsFlags?: true;
  /** Channels whose messages are not kept here; absent if there are none. */
  readonly notKept?: readonly string[];
}

/** Body of `GET /api/conversations/search`. */
export interface SearchView {
  readonly hits: readonly SearchHit[];
}

/** Body of `GET /api/requests`. */
export interface RequestsView {
  /** The newest first: at most 200. */
  readonly requests: readonly RequestView[];
}

/** Body of `GET /api/conversations/:id`. */
export interface ConversationView {
  readonly conversation: ConversationSummary;
  /** Oldest first. */
  readonly turns: readonly Turn[];
  /** Pass it as `before` to read earlier turns; absent if there are none. */
  readonly before?: string;
  /** The owner may write into this session of another channel. */
  readonly acceptsConsole?: true;
  /** An answer runs or waits in this session of another channel. */
  readonly isBusy?: true;
}

/** Body of `POST /api/conversations/:id/messages`. */
export interface SentView {
  /** `pending`: the application has not accepted the message within 5 s. */
  readonly status: "accepted" | "duplicate" | "pending";
}

/** Body of `POST /api/conversations/:id/stop`. */
export interface StoppedView {
  readonly stopped: readonly StopResult[];
}
