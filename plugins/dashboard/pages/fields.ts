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
  return html`<input type="text" autocomplete="username" value="launcher" readonly hidden>`;
}

export interface SecretField {
  /** Also the name under which it is sent. */
  readonly id: string;
  readonly label: string;
  readonly autocomplete: string;
  /** Id of what else describes the field, beside its hint. */
  readonly describedBy?: string;
  readonly hint?: Html;
  /** Further attributes, each with a space before it. */
  readonly attributes?: Html;
}

/** A secret in one field with a button that shows it; the button needs the script and is hidden without. */
export function secretField({
  id,
  label,
  autocomplete,
  hint,
  attributes,
  ...field
}: SecretField): Html {
  const describedBy = [field.describedBy, hint && `${id}-hint`].filter(Boolean).join(" ");
  return html`<div class="field" data-field="${id}"><label for="${id}">${label}</label>
<div class="secret"><input id="${id}" name="${id}" type="password" autocomplete="${autocomplete}"
 autocapitalize="none" spellcheck="false"${describedBy && html` aria-describedby="${describedBy}"`}${attributes}>
<button type="button" class="reveal scripted" data-reveal="${id}" aria-pressed="false"
 aria-label="Show ${label.toLowerCase()}">Show</button></div>
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}</div>`;
}
