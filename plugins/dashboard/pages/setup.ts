import { tokenRules } from "../ui/text/token-rules.ts";
import { html, type Html } from "./html.ts";
import { doorway, layout, type Site } from "./layout.ts";
import { accountName, failure, secretField } from "./fields.ts";
import { whereIsIt, type TokenWay } from "./ways.ts";

export interface SetupFailure {
  readonly code:
    | "invalid_code"
    | "rate_limited"
    | "token_mismatch"
    | "weak_token"
    | "invalid_body"
    | "store_unavailable";
  /** Says more than the page's own sentence, for example which rule a weak token breaks. */
  readonly message?: string;
  readonly retryAfterSeconds?: number;
}

export interface SetupPage extends Site {
  readonly error?: SetupFailure;
  /** A setup cookie stands in for the code where scripts run; a plain form must still bring it. */
  readonly hasCookie: boolean;
  readonly ways: readonly TokenWay[];
}

const sentences: Readonly<Record<SetupFailure["code"], string>> = {
  invalid_code: "That is not the generated token. Check that you copied all of it.",
  rate_limited: "Too many wrong tokens came from this address.",
  token_mismatch: "The two entries of your own token differ.",
  weak_token: "Your own token does not keep all of the rules below.",
  invalid_body: "Fill in the form below.",
  store_unavailable: "The token could not be stored; nothing was changed. Try again.",
};

/**
 * One form with one button, so that the Enter key means what the chosen radio button says. It sends `keep=true`, or
 * `keep=false` with `token` and `confirm`; `keep=true` wins over whatever stands in the folded fields.
 */
export function setupPage(page: SetupPage): string {
  const { url, error, hasCookie, ways } = page;
  const body = html`<p class="lead">This service made a token at its first start. Whoever has the token can sign in.</p>
<div data-failure-place>
${error && failure(error.message ?? sentences[error.code], error.retryAfterSeconds)}</div>
<form method="post" action="${url("/setup")}" data-setup${hasCookie && html` data-has-cookie`}>${accountName()}
${codeField(hasCookie, error)}
${choices(error?.code === "weak_token" || error?.code === "token_mismatch")}
<button class="wide">Finish setup</button></form>
${whereIsIt("Where is the generated token?", ways)}`;
  const title = "Choose the token for this dashboard";
  const framed = doorway(title, body, "roomy");
  return layout({ site: page, title, styles: ["gate.css"], scripts: ["setup.js"], body: framed });
}

function codeField(hasCookie: boolean, error: SetupFailure | undefined): Html {
  const wrong = error?.code === "invalid_code";
  const hint = hasCookie
    ? html`You arrived with it, so this may stay empty; paste it if you are asked to.`
    : html`Paste it here to show that this service is yours.`;
  return secretField({
    id: "code",
    label: "Generated token",
    autocomplete: "off",
    hint,
    ...(wrong && { describedBy: "failure" }),
    attributes: html`${!hasCookie && html` required autofocus`}${wrong && html` aria-invalid="true"`}`,
  });
}

function choices(own: boolean): Html {
  return html`<fieldset class="choices"><legend>Sign in from now on with</legend>
<label class="choice"><input type="radio" name="keep" value="true"${!own && html` checked`}>
<span><b>The generated token</b>
<small>Long and random. It is stored already; keep a copy in your password manager.</small></span></label>
<label class="choice"><input type="radio" name="keep" value="false" id="own"${own && html` checked`}>
<span><b>A token of my own</b><small>Replaces the generated one at once.</small></span></label>
<div class="own">
${secretField({ id: "token", label: "Your token", autocomplete: "new-password", describedBy: "rules" })}
<ul class="rules" id="rules">${tokenRules.map((rule) => html`<li data-rule="${rule.id}">${rule.text}</li>`)}</ul>
${secretField({ id: "confirm", label: "Your token again", autocomplete: "new-password" })}
<p class="hint" role="status" data-rules-status></p>
</div></fieldset>`;
}
