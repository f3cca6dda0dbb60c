/** Renders documents of the console on the server. @module */
import type { ComponentType, JSX } from "preact";
import { renderToString } from "preact-render-to-string";
import { BottomBar, Rail, TopBar } from "./frame/rail.tsx";
import { AskPage, type AskData } from "./ask/page.tsx";
import { ActivityPage, type ActivityData } from "./activity/page.tsx";
import { ChatPage } from "./chat/page.tsx";
import type { ChatData } from "./chat/state/store.ts";
import { ClientsPage, type ConnectData } from "./clients/page.tsx";
import { ConnectionsPage, type ConnectionsData } from "./connections/page.tsx";
import { DoctorPage, type DoctorData } from "./doctor/page.tsx";
import { DocsPage, type DocsData } from "./docs/page.tsx";
import { MessagePage, type MessageData } from "./doorway/message.tsx";
import { SetupPage, type SetupData } from "./doorway/setup.tsx";
import { SignInPage, type SignInData } from "./doorway/sign-in.tsx";
import * as overviewCards from "./overview/cards.tsx";
import { OverviewPage, type OverviewData } from "./overview/page.tsx";
import { NotificationsPage, type NotificationsData } from "./notifications/page.tsx";
import { SecurityPage, type SecurityData } from "./security/page.tsx";
import { SettingsPage, type SettingsData } from "./settings/page.tsx";
import { SiteContext, useSite, type SiteFacts } from "./site.tsx";
import type { DocumentData } from "./start.tsx";

export type { AskData } from "./ask/page.tsx";
export type { ChatData } from "./chat/state/store.ts";
export type { DocsData } from "./docs/page.tsx";
export type { SetupFailure } from "./doorway/setup.tsx";
export type { SignInData } from "./doorway/sign-in.tsx";
export type { SiteFacts, Theme } from "./site.tsx";

/** Page -> its data. The name is also the name of its script and its style sheet. */
export interface PageData {
  readonly activity: ActivityData;
  readonly ask: AskData;
  readonly chat: ChatData;
  readonly clients: ConnectData;
  readonly connections: ConnectionsData;
  readonly docs: DocsData;
  readonly doctor: DoctorData;
  readonly notifications: NotificationsData;
  readonly overview: OverviewData;
  readonly security: SecurityData;
  readonly settings: SettingsData;
}

const components: {
  readonly [K in keyof PageData]: ComponentType<{ readonly data: PageData[K] }>;
} = {
  activity: ActivityPage,
  ask: AskPage,
  chat: ChatPage,
  clients: ClientsPage,
  connections: ConnectionsPage,
  docs: DocsPage,
  doctor: DoctorPage,
  notifications: NotificationsPage,
  overview: ({ data }) => <OverviewPage data={data} cards={overviewCards} />,
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
  /** Scripts of the first drawing. Without them, the browser finds one after another. */
  readonly preloads?: readonly string[] | undefined;
}

/** Renders a complete document for a signed-in browser. */
export function renderPage<K extends keyof PageData>(document: PageDocument<K>): string {
  const { page, site, now, data, preloads } = document;
  const Page = components[page] as ComponentType<{ readonly data: PageData[K] }>;
  const text = renderDocument(
    site,
    {
      styles: ["tokens.css", "base.css", "frame.css", `${page}.css`],
      script: `${page}.js`,
      preloads,
    },
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
      <p class="loading scripted">
        Loading… If it takes long, <a href="">reload the page</a>.
      </p>
      <script type="application/json" id="data" />
      <span id="end" hidden />
    </body>,
  );
  // The browser keeps the content of the documentation as the document has it.
  const forBrowser = page === "docs" ? { ...data, nodes: undefined } : data;
  const json = toScriptText({ site, now, data: forBrowser });
  return text.replace('id="data"></script>', () => `id="data">${json}</script>`);
}

/** JSON that cannot end the element it is in. */
const toScriptText = (data: DocumentData<unknown>): string =>
  JSON.stringify(data).replace(/[<>&\u2028\u2029]/g, toEscape);

const toEscape = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Page that needs no sign-in -> its data. */
export interface DoorwayData {
  readonly message: MessageData;
  readonly setup: SetupData;
  readonly "sign-in": SignInData;
}

const doorways: {
  readonly [K in keyof DoorwayData]: ComponentType<{ readonly data: DoorwayData[K] }>;
} = { message: MessagePage, setup: SetupPage, "sign-in": SignInPage };

/** Facts for pages that need no sign-in. They do not contain the version. */
type DoorwaySite = Pick<SiteFacts, "base" | "assets" | "theme" | "title"> & {
  /** Shown below the page. Empty: nothing is shown. */
  readonly host: string;
};

/** Renders a complete document for a browser that has not signed in. It is never hydrated. */
export function renderDoorway<K extends keyof DoorwayData>(
  page: K,
  site: DoorwaySite,
  data: DoorwayData[K],
): string {
  const Page = doorways[page] as ComponentType<{ readonly data: DoorwayData[K] }>;
  const script = page === "message" ? undefined : `${page}.js`;
  return renderDocument(
    { ...site, version: "", csrf: "", route: "" },
    { styles: ["tokens.css", "base.css", "doorway.css"], script },
    <body class="entry">
      <main id="main">
        <Page data={data} />
      </main>
      {site.host !== "" && <footer>{site.host}</footer>}
      <span id="end" hidden />
    </body>,
  );
}

interface HeadProps {
  /** Names of built files. */
  readonly styles: readonly string[];
  readonly script: string | undefined;
  readonly preloads?: readonly string[] | undefined;
}

function renderDocument(site: SiteFacts, files: HeadProps, body: JSX.Element): string {
  const inSite = (content: JSX.Element): string =>
    renderToString(<SiteContext.Provider value={site}>{content}</SiteContext.Provider>);
  const theme = site.theme === "system" ? "" : ` data-theme="${site.theme}"`;
  const head = inSite(<Head {...files} />);
  return `<!doctype html>\n<html lang="en"${theme}>${head}${inSite(body)}</html>\n`;
}

const viewport = [
  "width=device-width, initial-scale=1",
  // The page uses safe areas, and fits above the keyboard.
  "viewport-fit=cover, interactive-widget=resizes-content",
].join(", ");

/**
 * The browser paints nothing before it has parsed the body (`rel="expect"`). Otherwise a slow one
 * shows an incomplete page and then moves it.
 */
function Head({ styles, script, preloads = [] }: HeadProps): JSX.Element {
  const { base, title, asset, url, isInstallable } = useSite();
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content={viewport} />
      <meta name="color-scheme" content="light dark" />
      <meta name="robots" content="noindex" />
      <meta name="base" content={base} />
      <title>{`${title} · Doorward`}</title>
      <link rel="expect" href="#end" {...{ blocking: "render" }} />
      {isInstallable && (
        <>
          <link rel="manifest" href={url("/manifest.webmanifest")} />
          <link rel="apple-touch-icon" sizes="180x180" href={url("/apple-touch-icon.png")} />
        </>
      )}
      <link rel="icon" type="image/svg+xml" href={asset("icon.svg")} />
      <link
        rel="preload"
        as="font"
        type="font/woff2"
        href={asset("inter.woff2")}
        crossOrigin="anonymous"
      />
      {styles.map((name) => (
        <link key={name} rel="stylesheet" href={asset(name)} />
      ))}
      {script && <script type="module" src={asset(script)} />}
      {preloads.map((name) => (
        <link key={name} rel="modulepreload" href={asset(name)} />
      ))}
    </head>
  );
}
