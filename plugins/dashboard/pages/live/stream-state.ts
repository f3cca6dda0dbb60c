/** State of the live updates of a page, and the parts that follow them. @module */
import { signal } from "@preact/signals";
import type { FeedEvents } from "../../shared/feed-views.ts";
import type { ApiError } from "./api.ts";

export const retryDelayMs = 2000;
/** Default of `minIntervalMs`. */
export const minRefreshIntervalMs = 1000;

/** State of the live updates. `paused`: too many pages are open. `connecting`: before the first. */
type LiveState = "connecting" | "live" | "reconnecting" | "paused" | "signed-out";

/** State of the live updates of this page. */
export const liveState = signal<LiveState>("connecting");

/** A part of the page that follows events. */
export interface Subscriber {
  /**
   * Loads the data again: after a lost stream, after missed events and after a sign-in.
   *
   * @returns The error, or undefined after success.
   */
  readonly refresh?: () => Promise<ApiError | undefined>;
  /** Events after which the data is loaded again. */
  readonly refreshOn?: readonly (keyof FeedEvents)[];
  /** Shortest time between two such loads. @defaultValue one second */
  readonly minIntervalMs?: number;
  readonly on?: { readonly [K in keyof FeedEvents]?: (data: FeedEvents[K]) => void };
}

export interface Registered {
  readonly subscriber: Subscriber;
  readonly refreshSoon: () => void;
}

/** The parts of the page. */
export const subscribers = new Set<Registered>();

/** Read by the stream when it opens or ends. */
export const streamState = {
  /** Query of the stream, for example `{ log: "info" }`. */
  query: {} as Readonly<Record<string, string>>,
  /** A request that ends the session; the sign-in dialog waits for it. */
  pendingSignOut: Promise.resolve() as Promise<unknown>,
};
