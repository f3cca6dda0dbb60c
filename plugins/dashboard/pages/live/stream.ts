/** Keeps a page current: one stream of server-sent events, and what reloads after them. @module */
import { signal } from "@preact/signals";
import type { FeedEvents } from "../../shared/feed-views.ts";
import type { ApiError } from "./api.ts";
import { base } from "./base.ts";
import { setServerTime } from "./clock.ts";
import { allowSignInPrompt, onSignedIn, setSignOutReason } from "./owner.ts";

const retryDelayMs = 2000;
/** Default of `minIntervalMs`. */
const minRefreshIntervalMs = 1000;

/** State of the live updates. `paused`: too many pages are open. `connecting`: before the first. */
type LiveState = "connecting" | "live" | "reconnecting" | "paused" | "signed-out";

/** State of the live updates of this page. */
export const liveState = signal<LiveState>("connecting");

type Listeners = { readonly [K in keyof FeedEvents]?: (data: FeedEvents[K]) => void };

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
  readonly on?: Listeners;
}

/** The parts of the page, and what refreshes each of them soon. */
const subscribers = new Map<Subscriber, () => void>();

/** Query of the stream, for example `{ log: "info" }`. */
let query: Readonly<Record<string, string>> = {};
/** A request that ends the session; the sign-in dialog waits for it. */
let pendingSignOut: Promise<unknown> = Promise.resolve();

const firstEventTimeoutMs = 8000;
/** The server sends an event at least every 15 s. Longer silence means a dead connection. */
const maxSilenceMs = 40_000;

class PageStream {
  private source: EventSource | undefined;
  private lastEventId = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silenceTimer: ReturnType<typeof setTimeout> | undefined;
  /** The parts whose data may lack an event, with their last attempts to load it. */
  private readonly outdated = new Map<Subscriber, { hasFailed: boolean }>();
  private started = false;
  /** True from the first event of a stream until it fails or ends. */
  isOpen = false;

  /** Opens the stream while the page is visible. Polls every 2 s if no stream is available. */
  start(): void {
    this.started = true;
    onSignedIn(() => {
      if (liveState.value === "signed-out") this.open();
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.close();
      else if (liveState.value !== "paused") this.open();
    });
    for (const type of ["focus", "online"])
      addEventListener(type, () => {
        if (!document.hidden && liveState.value === "reconnecting") this.open();
      });
    if (!document.hidden) this.open();
  }

  /** Continues after "paused" and "signed out". */
  resume(): void {
    allowSignInPrompt();
    this.open();
  }

  reopen(): void {
    this.lastEventId = "";
    if (this.started && !document.hidden) this.open();
  }

  async refresh(which: Iterable<Subscriber> = subscribers.keys()): Promise<void> {
    const errors = await Promise.all([...which].map((subscriber) => this.refreshOne(subscriber)));
    if (errors.some((error) => error?.status === 401)) return this.pause("signed-out");
    const isCurrent = this.outdated.size === 0;
    const hasFailed = [...this.outdated.values()].some((attempt) => attempt.hasFailed);
    if (isCurrent) setSignOutReason();
    const isBroken = this.source !== undefined && !this.isOpen;
    if (this.isPaused() || isBroken || (!isCurrent && !hasFailed)) return;
    liveState.value = isCurrent ? "live" : "reconnecting";
    if (isCurrent || !this.source) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.refresh(), retryDelayMs);
  }

  /** @returns The error, if no later attempt has begun and the part is still shown. */
  private async refreshOne(subscriber: Subscriber): Promise<ApiError | undefined> {
    // A delayed refresh may come after the part has gone.
    if (!subscribers.has(subscriber)) return undefined;
    const attempt = { hasFailed: false };
    this.outdated.set(subscriber, attempt);
    const error = await subscriber.refresh?.();
    if (this.outdated.get(subscriber) !== attempt) return undefined;
    if (error === undefined || error.status === 404) this.outdated.delete(subscriber);
    else attempt.hasFailed = true;
    return error;
  }

  /** The data of a new part may lack an event: it is loaded now, or when the stream opens. */
  add(subscriber: Subscriber): void {
    if (this.isOpen) void this.refresh([subscriber]);
    else this.outdated.set(subscriber, { hasFailed: false });
  }

  /** The part is no longer shown. */
  forget(subscriber: Subscriber): void {
    subscribers.delete(subscriber);
    this.outdated.delete(subscriber);
  }

  private isPaused(): boolean {
    return liveState.value === "paused" || liveState.value === "signed-out";
  }

  private open(): void {
    this.close();
    if (this.isPaused()) liveState.value = "reconnecting";
    const parameters = new URLSearchParams({
      ...query,
      ...(this.lastEventId !== "" && { last: this.lastEventId }),
    });
    const source = new EventSource(`${base()}/api/events?${parameters}`);
    this.source = source;
    this.watchSilence(firstEventTimeoutMs);
    for (const type of Object.keys(eventTypes) as (keyof FeedEvents)[]) {
      source.addEventListener(type, (event: MessageEvent<string>) => {
        if (this.source === source) this.handleEvent(type, event);
      });
    }
    source.addEventListener("error", () => {
      if (this.source !== source) return;
      this.isOpen = false;
      if (source.readyState === EventSource.CLOSED) void this.refreshAndReopen(retryDelayMs);
      else liveState.value = "reconnecting";
    });
  }

  private close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.silenceTimer);
    this.source?.close();
    this.source = undefined;
    this.isOpen = false;
  }

  private pause(state: "paused" | "signed-out"): void {
    this.close();
    liveState.value = state;
  }

  private async refreshAndReopen(delayMs: number): Promise<void> {
    this.close();
    liveState.value = "reconnecting";
    await this.refresh();
    if (document.hidden || this.isPaused() || this.source) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), delayMs);
  }

  private watchSilence(ms: number): void {
    clearTimeout(this.silenceTimer);
    this.silenceTimer = setTimeout(() => void this.refreshAndReopen(retryDelayMs), ms);
  }

  private handleEvent<K extends keyof FeedEvents>(type: K, event: MessageEvent<string>): void {
    this.watchSilence(maxSilenceMs);
    if (event.lastEventId !== "") this.lastEventId = event.lastEventId;
    const data = JSON.parse(event.data) as FeedEvents[K];
    this.handlers[type]?.(data);
    for (const [subscriber, refreshSoon] of subscribers) {
      subscriber.on?.[type]?.(data);
      if (subscriber.refreshOn?.includes(type)) refreshSoon();
    }
  }

  private readonly handlers: Listeners = {
    hello: ({ resumed, now }) => {
      setServerTime(now);
      this.isOpen = true;
      if (resumed && this.outdated.size === 0) liveState.value = "live";
      else void this.refresh();
    },
    missed: () => void this.refresh(),
    superseded: () => this.pause("paused"),
    ended: async ({ reason }) => {
      this.close();
      await pendingSignOut;
      // Another tab may not have received the new cookie yet.
      if (reason === "rotated" || reason === "replaced")
        await new Promise((done) => setTimeout(done, minRefreshIntervalMs));
      setSignOutReason(reason);
      void this.refreshAndReopen(0);
    },
  };
}

/** A browser passes on only the events that a page names, so none may be absent. */
const eventTypes: Readonly<Record<keyof FeedEvents, true>> = {
  hello: true,
  state: true,
  rate: true,
  connected: true,
  disconnected: true,
  refused: true,
  "signed-in": true,
  "sign-in-refused": true,
  "signed-out": true,
  token: true,
  key: true,
  application: true,
  program: true,
  questions: true,
  flags: true,
  settings: true,
  log: true,
  "log-skipped": true,
  missed: true,
  superseded: true,
  ended: true,
};

/** The only stream of this page. Start it once, in the browser. */
export const pageStream = new PageStream();

/**
 * Adds a part of the page.
 *
 * @returns Removes it.
 */
export function subscribe(subscriber: Subscriber): () => void {
  const refreshSoon = throttle(subscriber.minIntervalMs ?? minRefreshIntervalMs, () =>
    pageStream.refresh([subscriber]),
  );
  subscribers.set(subscriber, refreshSoon);
  pageStream.add(subscriber);
  return () => pageStream.forget(subscriber);
}

/** Sets the query of the stream, for example `{ log: "info" }`, and opens the stream again. */
export function setStreamQuery(parameters: Readonly<Record<string, string>>): void {
  if (JSON.stringify(parameters) === JSON.stringify(query)) return;
  query = parameters;
  pageStream.reopen();
}

/** Suppresses the sign-in dialog until `request` settles, since the request ends the session. */
export function expectSessionEnd(request: Promise<unknown>): void {
  pendingSignOut = request.catch(() => undefined);
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

/** Returns a function that runs `act` immediately, then at most once per interval. */
function throttle(intervalMs: number, act: () => unknown): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ranAt = -Infinity;
  return () => {
    if (timer !== undefined) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        ranAt = performance.now(); // monotonic, unlike Date.now()
        void act();
      },
      Math.max(0, ranAt + intervalMs - performance.now()),
    );
  };
}
