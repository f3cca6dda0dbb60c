import type { FeedEvents } from "../api/views.ts";
import type { Refusal } from "./api.ts";
import { base, live, setLive, setText, show } from "./dom.ts";
import { sessionEnded } from "./owner.ts";
import { setServerTime } from "./times.ts";
import { endWords } from "./words.ts";

const pause = 2000;

export interface StreamOptions {
  /** Loads everything the page shows; answers the refusal, if there was one. Also runs when events were left out,
   *  unless `on.missed` says what to do then. */
  readonly refresh: () => Promise<Refusal | undefined>;
  readonly on?: { readonly [K in keyof FeedEvents]?: (data: FeedEvents[K]) => void };
  /** Of the stream's address, for example `{ log: "info" }`. */
  readonly query?: () => Record<string, string>;
}

export interface Stream {
  /** Opens it anew, for another query. */
  reopen(): void;
  /** An end of the session that this request brings about is no news: wait for its answer. */
  expectEnd(request: Promise<unknown>): void;
}

/** Hears of what happens while the page is visible, and asks every 2 s where that is not possible. */
export function startStream({ refresh, on = {}, query }: StreamOptions): Stream {
  let source: EventSource | undefined;
  let last = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isPaused = false;
  let expected: Promise<unknown> = Promise.resolve();

  const close = (): void => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const stop = (text: string, action: string): void => {
    close();
    isPaused = true;
    say(text, "warn", action);
  };
  const look = async (): Promise<void> => {
    const refused = await refresh();
    document.querySelector(".waiting")?.classList.remove("waiting");
    if (refused?.status === 401) return stop("Signed out", "Sign in");
    if (!isPaused) say(refused ? "Reconnecting…" : "Live", refused ? "warn" : "ok");
  };
  const lookAndReopen = async (ms: number): Promise<void> => {
    close();
    await look();
    if (!document.hidden && !isPaused && !source) timer = setTimeout(open, ms);
  };
  const hear: { readonly [K in keyof FeedEvents]?: (data: FeedEvents[K]) => void } = {
    hello: ({ resumed, now }) => {
      setServerTime(now);
      if (resumed) say("Live", "ok");
      else void look();
    },
    missed: () => (on.missed ? undefined : void look()),
    superseded: () => stop("Live updates paused", "Resume"),
    ended: async ({ reason }) => {
      close();
      await expected;
      sessionEnded(endWords(reason));
      void lookAndReopen(0);
    },
  };
  const open = (): void => {
    close();
    isPaused = false;
    const parameters = new URLSearchParams({ ...query?.(), ...(last !== "" && { last }) });
    const mine = new EventSource(`${base}/api/events?${parameters}`);
    source = mine;
    for (const type of types) {
      mine.addEventListener(type, (event: MessageEvent<string>) => {
        if (source !== mine) return;
        if (event.lastEventId !== "") last = event.lastEventId;
        const data = JSON.parse(event.data) as never;
        hear[type]?.(data);
        on[type]?.(data);
      });
    }
    mine.addEventListener("error", () => {
      if (source !== mine) return;
      if (mine.readyState === EventSource.CLOSED) void lookAndReopen(pause);
      else say("Reconnecting…", "warn");
    });
  };

  live("feed-resume")?.addEventListener("click", open);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else if (!isPaused) open();
  });
  if (!document.hidden) open();
  return {
    reopen: open,
    expectEnd: (request) => { expected = request.catch(() => undefined); },
  };
}

const types: readonly (keyof FeedEvents)[] = [
  "hello", "state", "rate", "connected", "disconnected", "refused", "signed-in", "sign-in-refused", "signed-out",
  "token", "program", "settings", "log", "log-skipped", "missed", "superseded", "ended",
];

function say(text: string, tone: string, action?: string): void {
  setLive("feed", text);
  live("feed")?.setAttribute("data-tone", tone);
  setText(live("feed-resume"), action ?? "");
  show(live("feed-resume"), action !== undefined);
}

/** Runs `act` soon, however often it is called: at once, then at most every `ms`. */
export function atMostEvery(ms: number, act: () => unknown): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ranAt = 0;
  return () => {
    if (timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      ranAt = Date.now();
      void act();
    }, Math.max(0, ranAt + ms - Date.now()));
  };
}
