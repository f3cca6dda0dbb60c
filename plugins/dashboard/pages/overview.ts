// Renders the overview page.
import { stateLabel } from "../ui/text/labels.ts";
import type { StatusView } from "../api/views.ts";
import { liveStatus } from "./signed-in-page.ts";
import { activity } from "./overview-activity.ts";
import { channelCard } from "./overview-channel.ts";
import { connectCard } from "./overview-connect.ts";
import { launcherCard } from "./overview-launcher.ts";
import { programCard } from "./overview-program.ts";
import { html, type Html } from "./html.ts";
import { layout, type Site } from "./layout.ts";

interface OverviewPage extends Site {
  readonly status: StatusView;
  readonly csrf: string;
}

/** Renders the first state. `overview.js` then updates every `data-live` element. */
export function overviewPage(page: OverviewPage): string {
  const { status } = page;
  const state = stateLabel(status.state);
  const body = html`<div class="head"><h1>Overview</h1>
<span class="badge ${state.tone}" data-live="state">${state.text}</span>
${liveStatus()}</div>
${warningsCard(status)}
<div class="columns">
<div class="main-column">${channelCard(status, page.url)}
${status.channel && connectCard(status.channel, status.tokens, page.url)}</div>
<div class="side-column"><div class="stack">${launcherCard(status)}
${status.program && programCard(status.program)}</div>${activity(status)}</div>
</div>`;
  return layout({
    site: page,
    title: "Overview",
    styles: ["snippets.css", "overview.css"],
    scripts: ["overview.js"],
    body,
    signedIn: { current: "/", version: status.version, csrf: page.csrf },
  });
}

function warningsCard({ warnings }: StatusView): Html {
  const hidden = warnings.length === 0 && html` hidden`;
  const rows = warnings.map(
    ({ text, fix }) => html`<li><p>${text}</p><p class="fix">${fix}</p></li>`,
  );
  return html`<section class="card warnings" aria-labelledby="h-warnings"
 data-live="warnings-card"${hidden}>
<h2 id="h-warnings">Warnings</h2><ul data-live="warnings">${rows}</ul></section>`;
}
