import { programFacts, programState } from "../ui/text/labels.ts";
import type { ProgramView } from "../api/views.ts";
import { html, type Html } from "./html.ts";

/** The program that answers the messages. `browser/show-program.ts` builds the same rows. */
export function programCard(program: ProgramView): Html {
  const { text, tone } = programState(program.state);
  return html`<section class="card program" aria-labelledby="h-program">
<div class="card-head"><h2 id="h-program">Program</h2>
<span class="badge ${tone}" data-live="program-state">${text}</span></div>
<p class="mono command">${program.command}</p>
<dl class="facts" data-live="program-facts">
${programFacts(program).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
<h3 id="h-program-said">Last lines of standard error</h3>
<p class="quiet-text" data-live="program-silent"${program.stderr.length > 0 && html` hidden`}>It has said nothing.</p>
<div class="said-box" tabindex="0" role="group" aria-labelledby="h-program-said">
<ol class="mono said-lines" data-live="program-said">
${program.stderr.map(({ text: said }) => html`<li>${said}</li>`)}</ol></div>
</section>`;
}
