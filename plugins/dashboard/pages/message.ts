// Renders an error as a page.
import { html } from "./html.ts";
import { entryCard, layout, type Site } from "./layout.ts";

interface MessagePage extends Site {
  readonly title: string;
  readonly text: string;
  /** Command or setting that fixes the problem. */
  readonly hint?: string;
}

/**
 * Renders an error for a browser. The page is readable without its style sheet, since the server
 * sends no assets to an unknown host name.
 */
export function messagePage(page: MessagePage): string {
  const body = html`<p class="lead">${page.text}</p>
${page.hint !== undefined && html`<p class="fix">${page.hint}</p>`}
<p class="aside"><a href="${page.url("/")}">Go to the dashboard</a></p>`;
  return layout({
    site: page,
    title: page.title,
    styles: ["entry.css"],
    scripts: [],
    body: entryCard(page.title, body),
  });
}
