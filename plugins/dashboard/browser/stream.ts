import type { FeedEvents } from "../api/views.ts";
import type { Refusal } from "./api.ts";
import { base, live, setLive, setText, show } from "./dom.ts";
import { askAgain, onSignedIn, sessionEnded } from "./owner.ts";
import { setServerTime } from "./times.ts";
import { signOutReasonLabel } from "../ui/text/labels.ts";

/** Milliseconds until the next try. */
const pause = 2000;
/** Between two looks at what changes all the time. */
const pace = 1000;
/** Until the first event. */
const patience = 8000;
/** The server sends an event every 15 s at least; a dead line says nothing. */
const maxSilence = 40_000;

export interface StreamOptions {
  /** Loads everything the page shows; answers the refusal, if there was one. Also runs when events were left out,
   *  unless `on.missed` says what to do then. */
  readonly refresh: () => Promise<Refusal | undefined>;
  /** Events after which what the page shows is out of date. */
  readonly news?: readonly (keyof FeedEvents)[];
  readonly on?: { readonly [K in keyof FeedEvents]?: (data: FeedEvents[K]) => void };
  /** Of the stream's address, for example `{ log: "info" }`. */
  readonly query?: () => Record<string, string>;
}

export interface Stream {
  /** Refreshes now, and again until it worked. */
  readonly look: () => Promise<void>;
  /** Opens it anew, for another query. */
  readonly reopen: () => void;
}

let expected: Promise<unknown> = Promise.resolve();

/** Leaves the page. Settles only where the page asks whether it may be left and stays. */
export function leave(go: () => void): Promise<void> {
  return new Promise((stayed) => {
    addEventListener(
      "beforeunload",
      ({ defaultPrevented }) => {
        if (defaultPrevented) setTimeout(stayed, pause); // no time passes while the browser asks
      },
      { once: true },
    );
    go();
  });
}

/** An end of the session that this request brings about is no news: wait until it is settled. */
export function expectEnd(request: Promise<unknown>): void {
  expected = request.catch(() => undefined);
}

/** Hears of what happens while the page is visible, and asks every 2 s where that is not possible. */
export function startStream({ refresh, news = [], on = {}, query }: StreamOptions): Stream {
  let source: EventSource | undefined;
  let last = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let paused: "superseded" | "signed out" | undefined;
  let looks = 0;
  /** What is shown goes as far as the stream does. */
  let isCurrent = false;

  const close = (): void => {
    clearTimeout(timer);
    clearTimeout(silence);
    source?.close();
    source = undefined;
  };
  const stop = (why: typeof paused, text: string, action: string): void => {
    close();
    paused = why;
    say(text, "warn", action);
  };
  const look = async (): Promise<void> => {
    const mine = ++looks;
    isCurrent = false;
    const refused = await refresh();
    document.querySelector(".waiting")?.classList.remove("waiting");
    if (mine !== looks) return; // a later one knows better
    if (refused?.status === 401) return stop("signed out", "Signed out", "Sign in");
    isCurrent = refused === undefined || refused.status === 404;
    if (isCurrent) sessionEnded();
    if (paused) return;
    say(isCurrent ? "Live" : "Reconnecting…", isCurrent ? "ok" : "warn");
    if (isCurrent || !source) return;
    clearTimeout(timer);
    timer = setTimeout(() => void look(), pause);
  };
  const lookAndReopen = async (ms: number): Promise<void> => {
    close();
    await look();
    if (document.hidden || paused || source) return;
    clearTimeout(timer);
    timer = setTimeout(open, ms);
  };
  const listenFor = (ms: number): void => {
    clearTimeout(silence);
    silence = setTimeout(() => void lookAndReopen(pause), ms);
  };
  const hear: { readonly [K in keyof FeedEvents]?: (data: FeedEvents[K]) => void } = {
    hello: ({ resumed, now }) => {
      setServerTime(now);
      if (resumed && isCurrent) say("Live", "ok");
      else void look();
    },
    missed: () => (on.missed ? undefined : void look()),
    superseded: () => stop("superseded", "Live updates paused", "Resume"),
    ended: async ({ reason }) => {
      close();
      await expected;
      // The browser's new cookie is on its way to another tab.
      if (reason === "rotated" || reason === "replaced")
        await new Promise((done) => setTimeout(done, pace));
      sessionEnded(signOutReasonLabel(reason));
      void lookAndReopen(0);
    },
  };
  const soon = atMostEvery(pace, look);
  const open = (): void => {
    close();
    paused = undefined;
    const parameters = new URLSearchParams({ ...query?.(), ...(last !== "" && { last }) });
    const mine = new EventSource(`${base}/api/events?${parameters}`);
    source = mine;
    listenFor(patience);
    for (const type of types) {
      mine.addEventListener(type, (event: MessageEvent<string>) => {
        if (source !== mine) return;
        listenFor(maxSilence);
        if (event.lastEventId !== "") last = event.lastEventId;
        const data = JSON.parse(event.data) as never;
        hear[type]?.(data);
        on[type]?.(data);
        if (news.includes(type)) soon();
      });
    }
    mine.addEventListener("error", () => {
      if (source !== mine) return;
      if (mine.readyState === EventSource.CLOSED) void lookAndReopen(pause);
      else say("Reconnecting…", "warn");
    });
  };

  live("feed-resume")?.addEventListener("click", () => {
    askAgain();
    open();
  });
  onSignedIn(() => {
    if (paused === "signed out") open();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else if (paused !== "superseded") open();
  });
  if (!document.hidden) open();
  return {
    look,
    reopen: () => {
      last = "";
      open();
    },
  };
}

const types: readonly (keyof FeedEvents)[] = [
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

function say(text: string, tone: string, action?: string): void {
  setLive("feed", text);
  live("feed")?.setAttribute("data-tone", tone);
  setText(live("feed-resume"), action ?? "");
  show(live("feed-resume"), action !== undefined);
}

/** Runs `act` soon, however often it is called: at once, then at most every `ms`. */
function atMostEvery(ms: number, act: () => unknown): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ranAt = -Infinity;
  return () => {
    if (timer !== undefined) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        ranAt = performance.now(); // the clock may be set
        void act();
      },
      Math.max(0, ranAt + ms - performance.now()),
    );
  };
}
