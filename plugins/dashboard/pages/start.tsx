/** Starts a page in the browser: the frame and the component of the page take over. @module */
import { hydrate, render, type ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { startClock } from "./live/clock.ts";
import { checkRestored, followKeyboard } from "./live/window.ts";
import { pageStream } from "./live/stream.ts";
import { registerWorker } from "./live/worker.ts";
import { followQuestions } from "./frame/counts.ts";
import { Layers } from "./frame/layers.tsx";
import { BottomBar, Rail, TopBar } from "./frame/rail.tsx";
import { startShortcuts } from "./frame/shortcuts.ts";
import { theme } from "./frame/theme.ts";
import { SiteContext, type SiteFacts } from "./site.tsx";

/** Content of the element `#data`. */
export interface DocumentData<T> {
  readonly site: SiteFacts;
  /** Server time at which the document was written. */
  readonly now: number;
  readonly data: T;
}

/** Hydrates the document with the component that the server rendered. */
export function startPage<T>(Page: ComponentType<{ readonly data: T }>): void {
  const text = document.getElementById("data")!.textContent;
  const { site, now, data } = JSON.parse(text) as DocumentData<T>;
  theme.value = site.theme;
  startClock(now);
  const roots = {
    rail: <Rail />,
    top: <TopBar />,
    main: <Page data={data} />,
    bottom: <BottomBar />,
  };
  for (const [id, content] of Object.entries(roots)) {
    hydrate(
      <SiteContext.Provider value={site}>{content}</SiteContext.Provider>,
      document.getElementById(id)!,
    );
  }
  render(
    <SiteContext.Provider value={site}>
      <Layers />
      <Stream />
    </SiteContext.Provider>,
    document.getElementById("layers")!,
  );
  // A browser may refuse workers; the page of the notifications says so.
  if (site.isInstallable) registerWorker()?.catch(() => undefined);
  if (site.notifies) void import("./notifications/in-sight.ts").then((part) => part.followSight());
  startShortcuts();
  followKeyboard();
  checkRestored();
  document.documentElement.dataset["ready"] = "";
  followQuestions();
}

/** Opens the stream after the effects of the page, in which its parts subscribe. */
function Stream(): null {
  useEffect(() => pageStream.start(), []);
  return null;
}
