// Renders the frame shared by pages for signed-in browsers.
import { html, type Html } from "./html.ts";
import { layout, type Site } from "./layout.ts";

/** Data that every page for signed-in browsers needs. */
export interface SignedInPage extends Site {
  readonly version: string;
  /** CSRF value of the sign-out form. */
  readonly csrf: string;
}

interface PageContent {
  /** Path of the page. The browser module has the same name. */
  readonly path: string;
  readonly title: string;
  /** Style sheets in addition to the common ones. */
  readonly styles?: readonly string[];
  /** Content next to the heading. */
  readonly beside?: Html;
  readonly body: Html;
}

/** Renders a page whose content its browser module draws. */
export function signedInPage(
  page: SignedInPage,
  { path, title, styles = [], beside, body }: PageContent,
): string {
  const { version, csrf } = page;
  return layout({
    site: page,
    title,
    styles,
    scripts: [`${path.slice(1)}.js`],
    body: html`<div class="head"><h1>${title}</h1>${beside}${liveStatus()}</div>
<noscript><p class="notice calm">This page needs JavaScript. Sign-in and sign-out work without
it.</p></noscript>
${body}`,
    signedIn: { current: path, version, csrf },
  });
}

/** Renders the live-update status and the button that resumes updates. */
function liveStatus(): Html {
  return html`<span class="live-status scripted" role="status" data-live="feed"></span>
<button type="button" class="quiet scripted" data-live="feed-resume" hidden></button>`;
}
