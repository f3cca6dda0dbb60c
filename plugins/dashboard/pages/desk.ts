import { html, type Html } from "./html.ts";
import { layout, type Site } from "./layout.ts";

/** What every page behind the door needs to know. */
export interface DeskPage extends Site {
  readonly version: string;
  /** Hidden value of the sign-out form. */
  readonly csrf: string;
}

export interface Desk {
  /** Path of the page; its module and its own style sheet are named after it. */
  readonly path: string;
  readonly title: string;
  /** Style sheets of the page. */
  readonly styles?: readonly string[];
  /** Beside the heading. */
  readonly beside?: Html;
  readonly body: Html;
}

/** A page behind the door whose content its module draws. */
export function desk(page: DeskPage, { path, title, styles = [], beside, body }: Desk): string {
  const { version, csrf } = page;
  return layout({
    site: page,
    title,
    styles,
    scripts: [`${path.slice(1)}.js`],
    body: html`<div class="head"><h1>${title}</h1>${beside}${pulse()}</div>
<noscript><p class="notice calm">This page needs JavaScript. Signing in and out work without it.</p></noscript>
${body}`,
    signedIn: { current: path, version, csrf },
  });
}

/** Says whether the page is current, and offers what makes it so. */
export function pulse(): Html {
  return html`<span class="pulse scripted" role="status" data-live="feed"></span>
<button type="button" class="quiet scripted" data-live="feed-resume" hidden></button>`;
}
