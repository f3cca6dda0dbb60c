/** Live updates of a page. The stream of server-sent events loads after the page. @module */
import { later } from "./later.ts";
import {
  minRefreshIntervalMs,
  retryDelayMs,
  streamState,
  subscribers,
  type Registered,
  type Subscriber,
} from "./stream-state.ts";
import { throttle } from "./throttle.ts";

export { liveState } from "./stream-state.ts";

const stream = later(() => import("./page-stream.ts"));
void stream.loaded.then(({ pageStream }) => pageStream.start());

/** Continues after "paused" and "signed out". */
export const resumeStream = (): void => stream.use(({ pageStream }) => pageStream.resume());

/**
 * Adds a part of the page. Its data must be current, or its own `refresh` must have been called.
 *
 * @returns Removes it.
 */
export function subscribe(subscriber: Subscriber): () => void {
  const refreshSoon = throttle(subscriber.minIntervalMs ?? minRefreshIntervalMs, () =>
    stream.use(({ pageStream }) => pageStream.refresh([registered])),
  );
  const registered: Registered = { subscriber, refreshSoon };
  subscribers.add(registered);
  return () => void subscribers.delete(registered);
}

/** Sets the query of the stream, for example `{ log: "info" }`, and opens the stream again. */
export function setStreamQuery(parameters: Readonly<Record<string, string>>): void {
  if (JSON.stringify(parameters) === JSON.stringify(streamState.query)) return;
  streamState.query = parameters;
  stream.module.peek()?.pageStream.reopen();
}

/** Suppresses the sign-in dialog until `request` settles, since the request ends the session. */
export function expectSessionEnd(request: Promise<unknown>): void {
  streamState.pendingSignOut = request.catch(() => undefined);
}

/** Leaves the page. Resolves only if a `beforeunload` prompt appears and the user stays. */
export function leavePage(go: () => void): Promise<void> {
  return new Promise((stayed) => {
    addEventListener(
      "beforeunload",
      ({ defaultPrevented }) => {
        // Timers stop while the browser shows the prompt.
        if (defaultPrevented) setTimeout(stayed, retryDelayMs);
      },
      { once: true },
    );
    go();
  });
}
