import { html, toText, type Html } from "./html.ts";
import { mark } from "./mark.ts";

/** What every page needs to know about where it is served. */
export interface Site {
  /** Adds the base path; every link, form action and asset goes through it. */
  readonly url: (path: string) => string;
  /** Path of the assets, for example `/assets/1f2e3d4c5b6a`. */
  readonly assets: string;
}

export interface SignedIn {
  /** Path of the page in the navigation. */
  readonly current: string;
  readonly version: string;
  /** Hidden value of the sign-out form. */
  readonly csrf: string;
}

export interface Frame {
  readonly site: Site;
  readonly title: string;
  /** Names of the page's own style sheets and modules in `browser/`, beside the common ones. */
  readonly styles: readonly string[];
  readonly scripts: readonly string[];
  readonly body: Html;
  /** Absent on the pages before the door: sign in, setup, messages. */
  readonly signedIn?: SignedIn;
}

/** The pages of the navigation, in its order. */
const pages: readonly { path: string; name: string }[] = [
  { path: "/", name: "Overview" },
  { path: "/connect", name: "Connect" },
  { path: "/connections", name: "Connections" },
  { path: "/chat", name: "Chat" },
  { path: "/tokens", name: "Tokens" },
  { path: "/sessions", name: "Sessions" },
  { path: "/settings", name: "Settings" },
  { path: "/log", name: "Log" },
  { path: "/doctor", name: "Doctor" },
];

/** What says that the page's scripts have taken over. */
const withReady = (scripts: readonly string[]): readonly string[] =>
  scripts.length > 0 ? ["ready.js", ...scripts] : scripts;

/** A complete document. Nothing of it is drawn before all of it is read, where browsers can do that: a slow one would
 *  centre a part of it first. */
export function layout(frame: Frame): string {
  const { site, title, signedIn } = frame;
  const asset = (name: string): string => site.url(`${site.assets}/dashboard/${name}`);
  const styles = ["base.css", "parts.css", ...(signedIn ? ["desk.css"] : []), ...frame.styles];
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
${withReady(frame.scripts).map((name) => html`<script type="module" src="${asset(name)}"></script>\n`)}
</head>
<body class="${signedIn ? "desk" : "gate"}">
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
  const links = pages.map(
    ({ path, name }) =>
      html`<li><a href="${site.url(path)}"${path === current && html` aria-current="page"`}>${name}</a></li>`,
  );
  return html`<header class="top"><div class="top-in">
<a class="brand" href="${site.url("/")}">${mark(28)}<span>Doorward</span></a>
<nav aria-label="Main"><ul>${links}</ul></nav>
<form method="post" action="${site.url("/logout")}"><input type="hidden" name="csrf" value="${csrf}">
<button class="quiet">Sign out</button></form>
</div></header>`;
}

/** The version, and the documentation of just this version, are for the signed in. */
function footer(site: Site, signedIn: SignedIn | undefined): Html {
  if (!signedIn) return html``;
  const current = signedIn.current === "/docs" && html` aria-current="page"`;
  return html`<footer class="foot"><span>Doorward ${signedIn.version}</span>
<a href="${site.url("/docs")}"${current}>Documentation</a></footer>`;
}

/** The doorway in which the pages before the door stand: mark, heading, content. */
export function doorway(title: string, body: Html, kind = ""): Html {
  return html`<div class="doorway ${kind}">
<p class="brand">${mark(56)}<span>Doorward</span></p>
<h1>${title}</h1>
${body}
</div>`;
}
