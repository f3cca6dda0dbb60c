// Keeps a page current: listens to server-sent events and reloads the data after changes.
import type { FeedEvents } from "../api/views.ts";
import type { ApiError } from "./api.ts";
import { base, live, setLive, setText, show } from "./dom.ts";
import { allowSignInPrompt, onSignedIn, setSignOutReason } from "./owner.ts";
import { setServerTime } from "./times.ts";
import { signOutReasonLabel } from "../ui/text/labels.ts";

const retryDelayMs = 2000;
const minRefreshIntervalMs = 1000;
const firstEventTimeoutMs = 8000;
/** The server sends an event at least every 15 s. Longer silence means a dead connection. */
const maxSilenceMs = 40_000;

interface StreamOptions {
  /**
   * Loads all data of the page. Also runs after skipped events, unless `on.missed` is set.
   *
   * @returns The error, or undefined after success.
   */
  readonly refresh: () => Promise<ApiError | undefined>;
  /** Events that make the data of the page outdated. */
  readonly refreshOn?: readonly (keyof FeedEvents)[];
  readonly on?: { readonly [K in keyof FeedEvents]?: (data: FeedEvents[K]) => void };
  /** Query parameters of the stream, for example `{ log: "info" }`. */
  readonly query?: () => Record<string, string>;
}

interface Stream {
  /** Reloads the data now, and retries until it succeeds. */
  readonly refresh: () => Promise<void>;
  /** Opens the stream again, for a new query. */
  readonly reopen: () => void;
}

let pendingSignOut: Promise<unknown> = Promise.resolve();

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

/** Suppresses the sign-in prompt until `request` settles, since the request ends the session. */
export function expectSessionEnd(request: Promise<unknown>): void {
  pendingSignOut = request.catch(() => undefined);
}

/** Opens the stream while the page is visible. Polls every 2 s if no stream is available. */
export function startStream(options: StreamOptions): Stream {
  const stream = new PageStream(options);
  stream.start();
  return { refresh: () => stream.refresh(), reopen: () => stream.reopen() };
}

class PageStream {
  private source: EventSource | undefined;
  private lastEventId = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silenceTimer: ReturnType<typeof setTimeout> | undefined;
  private paused: "superseded" | "signed out" | undefined;
  private refreshCount = 0;
  /** True while the shown data includes every event received so far. */
  private isCurrent = false;
  private readonly options: StreamOptions;
  private readonly refreshSoon = throttle(minRefreshIntervalMs, () => this.refresh());

  constructor(options: StreamOptions) {
    this.options = options;
  }

  start(): void {
    live("feed-resume")?.addEventListener("click", () => {
      allowSignInPrompt();
      this.open();
    });
    onSignedIn(() => {
      if (this.paused === "signed out") this.open();
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.close();
      else if (this.paused !== "superseded") this.open();
    });
    if (!document.hidden) this.open();
  }

  reopen(): void {
    this.lastEventId = "";
    this.open();
  }

  async refresh(): Promise<void> {
    const current = ++this.refreshCount;
    this.isCurrent = false;
    const error = await this.options.refresh();
    document.querySelector(".waiting")?.classList.remove("waiting");
    if (current !== this.refreshCount) return; // a later refresh has newer data
    if (error?.status === 401) return this.pause("signed out", "Signed out", "Sign in");
    this.isCurrent = error === undefined || error.status === 404;
    if (this.isCurrent) setSignOutReason();
    if (this.paused) return;
    showFeedStatus(this.isCurrent ? "Live" : "Reconnecting…", this.isCurrent ? "ok" : "warn");
    if (this.isCurrent || !this.source) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.refresh(), retryDelayMs);
  }

  private open(): void {
    this.close();
    this.paused = undefined;
    const parameters = new URLSearchParams({
      ...this.options.query?.(),
      ...(this.lastEventId !== "" && { last: this.lastEventId }),
    });
    const source = new EventSource(`${base}/api/events?${parameters}`);
    this.source = source;
    this.watchSilence(firstEventTimeoutMs);
    for (const type of eventTypes) {
      source.addEventListener(type, (event: MessageEvent<string>) => {
        if (this.source === source) this.handleEvent(type, event);
      });
    }
    source.addEventListener("error", () => {
      if (this.source !== source) return;
      if (source.readyState === EventSource.CLOSED) void this.refreshAndReopen(retryDelayMs);
      else showFeedStatus("Reconnecting…", "warn");
    });
  }

  private close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.silenceTimer);
    this.source?.close();
    this.source = undefined;
  }

  private pause(reason: typeof this.paused, text: string, action: string): void {
    this.close();
    this.paused = reason;
    showFeedStatus(text, "warn", action);
  }

  private async refreshAndReopen(delayMs: number): Promise<void> {
    this.close();
    await this.refresh();
    if (document.hidden || this.paused || this.source) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), delayMs);
  }

  private watchSilence(ms: number): void {
    clearTimeout(this.silenceTimer);
    this.silenceTimer = setTimeout(() => void this.refreshAndReopen(retryDelayMs), ms);
  }

  private handleEvent(type: keyof FeedEvents, event: MessageEvent<string>): void {
    this.watchSilence(maxSilenceMs);
    if (event.lastEventId !== "") this.lastEventId = event.lastEventId;
    const data = JSON.parse(event.data) as never;
    this.handlers[type]?.(data);
    this.options.on?.[type]?.(data);
    if (this.options.refreshOn?.includes(type)) this.refreshSoon();
  }

  private readonly handlers: { readonly [K in keyof FeedEvents]?: (data: FeedEvents[K]) => void } =
    {
      hello: ({ resumed, now }) => {
        setServerTime(now);
        if (resumed && this.isCurrent) showFeedStatus("Live", "ok");
        else void this.refresh();
      },
      missed: () => (this.options.on?.missed ? undefined : void this.refresh()),
      superseded: () => this.pause("superseded", "Live updates paused", "Resume"),
      ended: async ({ reason }) => {
        this.close();
        await pendingSignOut;
        // Another tab may not have received the new cookie yet.
        if (reason === "rotated" || reason === "replaced")
          await new Promise((done) => setTimeout(done, minRefreshIntervalMs));
        setSignOutReason(signOutReasonLabel(reason));
        void this.refreshAndReopen(0);
      },
    };
}

const eventTypes: readonly (keyof FeedEvents)[] = [
  "hello",
  "state",
  "rate",
  "connected",
  "disconnected",
  "refused",
  "signed-in",
  "sign-in-refused",
  "signed-out",
  "token",
  "program",
  "settings",
  "log",
  "log-skipped",
  "missed",
  "superseded",
  "ended",
];

function showFeedStatus(text: string, tone: string, action?: string): void {
  setLive("feed", text);
  live("feed")?.setAttribute("data-tone", tone);
  setText(live("feed-resume"), action ?? "");
  show(live("feed-resume"), action !== undefined);
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
