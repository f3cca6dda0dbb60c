import { html } from "./html.ts";
import { doorway, layout, type Site } from "./layout.ts";

export interface MessagePage extends Site {
  readonly title: string;
  readonly text: string;
  /** The command or setting that helps. */
  readonly hint?: string;
}

/** For an error met in a browser. Reads well without its style sheet too: a refused host gets no assets. */
export function messagePage(page: MessagePage): string {
  const body = html`<p class="lead">${page.text}</p>${page.hint !== undefined && html`<p class="fix">${page.hint}</p>`}
<p class="aside"><a href="${page.url("/")}">Go to the dashboard</a></p>`;
  return layout({
    site: page,
    title: page.title,
    styles: ["gate.css"],
    scripts: [],
    body: doorway(page.title, body),
  });
}
