/** Renders documents of the console on the server. @module */
import type { ComponentType, JSX } from "preact";
import { renderToString } from "preact-render-to-string";
import { BottomBar, Rail, TopBar } from "./frame/rail.tsx";
import { ActivityPage, type ActivityData } from "./activity/page.tsx";
import { ChatPage, type ChatData } from "./chat/page.tsx";
import { ClientsPage, type ClientsData } from "./clients/page.tsx";
import { DoctorPage, type DoctorData } from "./doctor/page.tsx";
import { DocsPage, type DocsData } from "./docs/page.tsx";
import { OverviewPage, type OverviewData } from "./overview/page.tsx";
import { SecurityPage, type SecurityData } from "./security/page.tsx";
import { SettingsPage, type SettingsData } from "./settings/page.tsx";
import { SiteContext, useSite, type SiteFacts } from "./site.tsx";
import type { DocumentData } from "./start.tsx";

export type { ChatData } from "./chat/page.tsx";
export type { DocsData } from "./docs/page.tsx";
export type { SiteFacts, Theme } from "./site.tsx";

/** Page -> its data. The name is also the name of its script and its style sheet. */
export interface PageData {
  readonly activity: ActivityData;
  readonly chat: ChatData;
  readonly clients: ClientsData;
  readonly docs: DocsData;
  readonly doctor: DoctorData;
  readonly overview: OverviewData;
  readonly security: SecurityData;
  readonly settings: SettingsData;
}

const components: {
  readonly [K in keyof PageData]: ComponentType<{ readonly data: PageData[K] }>;
} = {
  activity: ActivityPage,
  chat: ChatPage,
  clients: ClientsPage,
  docs: DocsPage,
  doctor: DoctorPage,
  overview: OverviewPage,
  security: SecurityPage,
  settings: SettingsPage,
};

/** A page with its data. */
interface PageDocument<K extends keyof PageData = keyof PageData> {
  readonly page: K;
  readonly site: SiteFacts;
  /** Server time in Unix milliseconds. */
  readonly now: number;
  readonly data: PageData[K];
}

const styleSheets = ["tokens.css", "base.css", "frame.css"];

/** Renders a complete document for a signed-in browser. */
export function renderPage<K extends keyof PageData>(document: PageDocument<K>): string {
  const { page, site, now, data } = document;
  const Page = components[page] as ComponentType<{ readonly data: PageData[K] }>;
  const inSite = (content: JSX.Element): string =>
    renderToString(<SiteContext.Provider value={site}>{content}</SiteContext.Provider>);
  const theme = site.theme === "system" ? "" : ` data-theme="${site.theme}"`;
  const body = inSite(
    <body class="app">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="rail" id="rail">
        <Rail />
      </header>
      <header class="top" id="top">
        <TopBar />
      </header>
      <main class="page" id="main" tabIndex={-1}>
        <Page data={data} />
      </main>
      <nav class="bottom" id="bottom" aria-label="Main, phone">
        <BottomBar />
      </nav>
      <div id="layers" />
      <script type="application/json" id="data" />
      <span id="end" hidden />
    </body>,
  );
  // The browser reads the content of the documentation from the markup.
  const forBrowser = page === "docs" ? { ...data, nodes: undefined } : data;
  const text = toScriptText({ site, now, data: forBrowser });
  const whole = body.replace('id="data"></script>', () => `id="data">${text}</script>`);
  const head = inSite(<Head page={page} />);
  return `<!doctype html>\n<html lang="en"${theme}>${head}${whole}</html>\n`;
}

/** JSON that cannot end the element it is in. */
const toScriptText = (data: DocumentData<unknown>): string =>
  JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, toEscape);

const toEscape = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

function Head({ page }: { readonly page: string }): JSX.Element {
  const { base, title, asset } = useSite();
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="robots" content="noindex" />
      <meta name="base" content={base} />
      <title>{`${title} · Doorward`}</title>
      <link rel="expect" href="#end" {...{ blocking: "render" }} />
      <link rel="icon" type="image/svg+xml" href={asset("icon.svg")} />
      <link
        rel="preload"
        as="font"
        type="font/woff2"
        href={asset("inter.woff2")}
        crossOrigin="anonymous"
      />
      {[...styleSheets, `${page}.css`].map((name) => (
        <link key={name} rel="stylesheet" href={asset(name)} />
      ))}
      <script type="module" src={asset(`${page}.js`)} />
    </head>
  );
}
