/** Starts a page in the browser: the frame and the component of the page take over. @module */
import { hydrate, render, type ComponentType } from "preact";
import { forgetChat } from "./chat/state/forget.ts";
import { startClock } from "./live/clock.ts";
import { hydration } from "./live/hydration.ts";
import { later, loadLater } from "./live/later.ts";
import { reportReady } from "./live/readiness.ts";
import { Layers } from "./frame/layers.tsx";
import { BottomBar, Rail, TopBar } from "./frame/rail.tsx";
import { onSignedOut } from "./frame/sign-out.ts";
import { startShortcuts } from "./frame/shortcuts.ts";
import { theme } from "./frame/theme.ts";
import { SiteContext, type SiteFacts } from "./site.tsx";

const questions = later(() => import("./frame/open-questions.ts"));

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
  hydration.isRunning = true;
  for (const [id, content] of Object.entries(roots)) {
    hydrate(
      <SiteContext.Provider value={site}>{content}</SiteContext.Provider>,
      document.getElementById(id)!,
    );
  }
  hydration.isRunning = false;
  render(
    <SiteContext.Provider value={site}>
      <Layers />
    </SiteContext.Provider>,
    document.getElementById("layers")!,
  );
  onSignedOut(forgetChat);
  startShortcuts();
  document.documentElement.dataset["ready"] = "";
  loadLater();
  reportReady();
  questions.use(({ followQuestions }) => followQuestions());
}
