// Renders the HTML document around every page: head, navigation and footer.
import { html, toText, type Html } from "./html.ts";
import { mark } from "./mark.ts";

/** URLs that every page needs. */
export interface Site {
  /** Adds the base path. Every link, form action and asset URL needs it. */
  readonly url: (path: string) => string;
  /** Path of the assets, for example `/assets/1f2e3d4c5b6a`. */
  readonly assets: string;
}

interface SignedIn {
  /** Path of the page in the navigation. */
  readonly current: string;
  readonly version: string;
  /** CSRF value of the sign-out form. */
  readonly csrf: string;
}

interface Frame {
  readonly site: Site;
  readonly title: string;
  /** Files in `browser/` in addition to the common ones. */
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
  readonly body: Html;
  /** Undefined on pages that need no sign-in: sign-in, setup and messages. */
  readonly signedIn?: SignedIn;
}

/** Pages of the navigation, in display order. */
const pages: readonly { path: string; name: string }[] = [
  { path: "/", name: "Overview" },
  { path: "/clients", name: "Clients" },
  { path: "/chat", name: "Chat" },
  { path: "/security", name: "Security" },
  { path: "/settings", name: "Settings" },
  { path: "/activity", name: "Activity" },
  { path: "/doctor", name: "Doctor" },
];

/** Adds the module that enables scripted controls. */
const withReady = (scripts: readonly string[]): readonly string[] =>
  scripts.length > 0 ? ["ready.js", ...scripts] : scripts;

/**
 * Renders a complete document. `rel="expect"` delays the first paint until the browser has parsed
 * the body; otherwise a slow browser centres an incomplete page and then moves it.
 */
export function layout(frame: Frame): string {
  const { site, title, signedIn } = frame;
  const asset = (name: string): string => site.url(`${site.assets}/dashboard/${name}`);
  const styles = ["base.css", "parts.css", ...(signedIn ? ["signed-in.css"] : []), ...frame.styles];
  return toText(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<meta name="base" content="${site.url("/").replace(/\/$/, "")}">
<title>${title} · Doorward</title>
<link rel="expect" href="#end" blocking="render">
<link rel="icon" type="image/svg+xml" href="${asset("icon.svg")}">
${styles.map((name) => html`<link rel="stylesheet" href="${asset(name)}">\n`)}
${withReady(frame.scripts).map(
  (name) => html`<script type="module" src="${asset(name)}"></script>\n`,
)}
</head>
<body class="${signedIn ? "signed-in" : "entry"}">
<a class="skip" href="#main">Skip to content</a>
${signedIn ? topBar(site, signedIn) : ""}
<main id="main" tabindex="-1">${frame.body}</main>
${footer(site, signedIn)}
<span id="end" hidden></span>
</body>
</html>
`);
}

function topBar(site: Site, { current, csrf }: SignedIn): Html {
  const links = pages.map(({ path, name }) => {
    const marker = path === current && html` aria-current="page"`;
    return html`<li><a href="${site.url(path)}"${marker}>${name}</a></li>`;
  });
  return html`<header class="top"><div class="top-in">
<a class="brand" href="${site.url("/")}">${mark(28)}<span>Doorward</span></a>
<nav aria-label="Main"><ul>${links}</ul></nav>
<form method="post" action="${site.url("/logout")}">
<input type="hidden" name="csrf" value="${csrf}">
<button class="quiet">Sign out</button></form>
</div></header>`;
}

/** Only signed-in browsers see the version and the link to its documentation. */
function footer(site: Site, signedIn: SignedIn | undefined): Html {
  if (!signedIn) return html``;
  const current = signedIn.current === "/docs" && html` aria-current="page"`;
  return html`<footer class="foot"><span>Doorward ${signedIn.version}</span>
<a href="${site.url("/docs")}"${current}>Documentation</a></footer>`;
}

/** Renders the card of pages that need no sign-in: logo, heading and content. */
export function entryCard(title: string, body: Html, kind = ""): Html {
  return html`<div class="entry-card ${kind}">
<p class="brand">${mark(56)}<span>Doorward</span></p>
<h1>${title}</h1>
${body}
</div>`;
}
