import type { DeskPage } from "./desk.ts";
import { built, html } from "./html.ts";
import { layout } from "./layout.ts";

export interface DocsPage extends DeskPage {
  readonly title: string;
  /** From the build; links to other pages begin with `docs:`. */
  readonly markup: string;
  readonly isIndex: boolean;
}

/** A page of the documentation, or the list of them. */
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
