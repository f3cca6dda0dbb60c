// Renders form fields for tokens, failure messages and countdowns.
import { html, type Html, type HtmlPart } from "./html.ts";

/** Renders the error of the last attempt. The affected field refers to it by `aria-describedby`. */
export function failure(sentence: HtmlPart, retryAfterSeconds?: number): Html {
  return html`<div class="notice bad" id="failure"><p data-failure>${sentence}</p>
${retryAfterSeconds !== undefined && countdown(retryAfterSeconds)}</div>`;
}

/**
 * Renders a countdown. Screen readers do not announce each change of a `timer`; the script
 * announces the end in the status next to it.
 */
function countdown(retryAfterSeconds: number): Html {
  const seconds = Math.ceil(retryAfterSeconds);
  return html`<p><span role="timer" data-countdown="${seconds}">Try again in ${seconds} s.</span>
<span role="status" data-countdown-end></span></p>`;
}

/** Renders the user name for password managers. It has no `name`, so the form does not send it. */
export function accountName(): Html {
  return html`<input type="text" autocomplete="username" value="launcher" readonly hidden>`;
}

interface SecretField {
  /** Id and form name of the input. */
  readonly id: string;
  readonly label: string;
  readonly autocomplete: string;
  /** Id of an element that describes the field in addition to its hint. */
  readonly describedBy?: string;
  readonly hint?: Html;
  /** More attributes of the input, each with a leading space. */
  readonly attributes?: Html;
}

/** Renders a password field with a Show button, which is hidden without JavaScript. */
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
 autocapitalize="none" spellcheck="false"${
   describedBy && html` aria-describedby="${describedBy}"`
 }${attributes}>
<button type="button" class="reveal scripted" data-reveal="${id}" aria-pressed="false"
 aria-label="Show ${label.toLowerCase()}">Show</button></div>
${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}</div>`;
}
