// Renders a documentation page or the list of documentation pages.
import type { SignedInPage } from "./signed-in-page.ts";
import { built, html } from "./html.ts";
import { layout } from "./layout.ts";

interface DocsPage extends SignedInPage {
  readonly title: string;
  /** HTML from the build. Links to other documentation pages begin with `docs:`. */
  readonly markup: string;
  readonly isIndex: boolean;
}

/** Renders a documentation page or, if `isIndex` is true, the list of pages. */
export function docsPage(page: DocsPage): string {
  const { url, title, markup, isIndex, version, csrf } = page;
  const body = html`<div class="head"><h1>${title}</h1>
${!isIndex && html`<a class="push" href="${url("/docs")}">All pages</a>`}</div>
<article class="card prose">
${built(markup.replaceAll('href="docs:', `href="${url("/docs/")}`))}</article>`;
  return layout({
    site: page,
    title,
    styles: ["docs.css"],
    scripts: [],
    body,
    signedIn: { current: "/docs", version, csrf },
  });
}
