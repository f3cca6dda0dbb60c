// Renders the program card of the overview.
import { deafLabel, programDetails, programState } from "../ui/text/labels.ts";
import type { ProgramView } from "../api/views.ts";
import { html, type Html } from "./html.ts";

/** Renders the program state and its stderr. `browser/show-program.ts` renders the same rows. */
export function programCard(program: ProgramView): Html {
  const { text, tone } = programState(program.state);
  const isDeaf = program.deaf > 0;
  return html`<section class="card program" aria-labelledby="h-program">
<div class="card-head"><h2 id="h-program">Program</h2>
<span class="badge ${tone}" data-live="program-state">${text}</span></div>
<p class="mono command">${program.command}</p>
<dl class="facts" data-live="program-details">
${programDetails(program).map(
  ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
)}</dl>
<div class="deaf" data-live="program-deaf"${!isDeaf && html` hidden`}>
<p role="status" data-live="program-deaf-text">${deafLabel(program)}</p>
<button type="button" class="quiet" data-restart-program>Restart the program</button>
<p class="problem" role="alert" data-live="program-problem"></p></div>
<h3 id="h-program-stderr">Recent stderr output</h3>
<p class="quiet-text" data-live="program-silent"${program.stderr.length > 0 && html` hidden`}>
No output on stderr yet.</p>
<div class="stderr-box" tabindex="0" role="group" aria-labelledby="h-program-stderr">
<ol class="mono stderr-lines" data-live="program-stderr">
${program.stderr.map((line) => html`<li>${line.text}</li>`)}</ol></div>
</section>`;
}
