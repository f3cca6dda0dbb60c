import { html, type Html, type HtmlPart } from "./html.ts";

/** Why the last try failed. The field it belongs to names it in `aria-describedby`. */
export function failure(sentence: HtmlPart, retryAfterSeconds?: number): Html {
  return html`<div class="notice bad" id="failure"><p data-failure>${sentence}</p>
${retryAfterSeconds !== undefined && countdown(retryAfterSeconds)}</div>`;
}

/** `role="timer"` is not read aloud at each change; the script announces the end in the status beside it. */
function countdown(seconds: number): Html {
  return html`<p><span role="timer" data-countdown="${Math.ceil(seconds)}">Try again in ${Math.ceil(seconds)} s.</span>
<span role="status" data-countdown-end></span></p>`;
}

/** Gives password managers a name to store the token under; without a name of its own it is not sent. */
export function accountName(): Html {
  return html`<input type="text" autocomplete="username" value="launcher" aria-hidden="true" tabindex="-1" readonly hidden>`;
}

/** A secret in one field with a button that shows it; the button needs the script and is hidden without. */
export function secretField(o: { id: string; label: string; autocomplete: string; describedBy?: string; attributes?: Html; hint?: Html }): Html {
  const describedBy = [o.describedBy, o.hint && `${o.id}-hint`].filter(Boolean).join(" ");
  return html`<div class="field" data-field="${o.id}"><label for="${o.id}">${o.label}</label>
<div class="secret"><input id="${o.id}" name="${o.id}" type="password" autocomplete="${o.autocomplete}" autocapitalize="none"
 spellcheck="false"${describedBy !== "" && html` aria-describedby="${describedBy}"`}${o.attributes}>
<button type="button" class="reveal scripted" data-reveal="${o.id}" aria-pressed="false"
 aria-label="Show ${o.label.toLowerCase()}">Show</button></div>
${o.hint && html`<p class="hint" id="${o.id}-hint">${o.hint}</p>`}</div>`;
}
