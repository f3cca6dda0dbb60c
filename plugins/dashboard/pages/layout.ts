// Renders the HTML document around pages that need no sign-in: sign-in, setup and messages.
import { html, toText, type Html } from "./html.ts";
import { mark } from "./mark.ts";

/** URLs that every page needs. */
export interface Site {
  /** Adds the base path. Every link, form action and asset URL needs it. */
  readonly url: (path: string) => string;
  /** Path of the assets, for example `/assets/1f2e3d4c5b6a`. */
  readonly assets: string;
}

interface Frame {
  readonly site: Site;
  readonly title: string;
  /** Files in `browser/` in addition to the common ones. */
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
  readonly body: Html;
}

/** Adds the module that enables scripted controls. */
const withReady = (scripts: readonly string[]): readonly string[] =>
  scripts.length > 0 ? ["ready.js", ...scripts] : scripts;

/**
 * Renders a complete document. `rel="expect"` delays the first paint until the browser has parsed
 * the body; otherwise a slow browser centres an incomplete page and then moves it.
 */
export function layout(frame: Frame): string {
  const { site, title } = frame;
  const asset = (name: string): string => site.url(`${site.assets}/dashboard/${name}`);
  const styles = ["base.css", "parts.css", ...frame.styles];
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
<body class="entry">
<a class="skip" href="#main">Skip to content</a>
<main id="main" tabindex="-1">${frame.body}</main>
<span id="end" hidden></span>
</body>
</html>
`);
}

/** Renders the card of pages that need no sign-in: logo, heading and content. */
export function entryCard(title: string, body: Html, kind = ""): Html {
  return html`<div class="entry-card ${kind}">
<p class="brand">${mark(56)}<span>Doorward</span></p>
<h1>${title}</h1>
${body}
</div>`;
}
