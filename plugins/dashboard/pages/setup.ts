// Renders the page that asks for the launcher token after the first start.
import { tokenRules } from "../ui/text/token-rules.ts";
import { html, type Html } from "./html.ts";
import { entryCard, layout, type Site } from "./layout.ts";
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
  /** Replaces the default sentence, for example to name the rule a weak token violates. */
  readonly message?: string;
  readonly retryAfterSeconds?: number;
}

interface SetupPage extends Site {
  readonly error?: SetupFailure;
  /** True if a setup cookie replaces the setup code. It does so only for requests of scripts. */
  readonly hasCookie: boolean;
  readonly ways: readonly TokenWay[];
}

const sentences: Readonly<Record<SetupFailure["code"], string>> = {
  invalid_code: "That is not the generated token. Check that you copied all of it.",
  rate_limited: "This address sent too many wrong tokens.",
  token_mismatch: "The two entries of your token differ.",
  weak_token: "Your token violates a rule below.",
  invalid_body: "Fill in the form below.",
  store_unavailable: "The token could not be saved. Nothing was changed. Try again.",
};

/**
 * Renders one form with one button, so that Enter submits the selected option. The form sends
 * `keep=true`, or `keep=false` with `token` and `confirm`. With `keep=true` the server ignores the
 * collapsed fields.
 */
export function setupPage(page: SetupPage): string {
  const { url, error, hasCookie, ways } = page;
  const body = html`<p class="lead">Doorward generated a token at the first start. Anyone with this
token can sign in.</p>
<div data-failure-place>
${error && failure(error.message ?? sentences[error.code], error.retryAfterSeconds)}</div>
<form method="post" action="${url("/setup")}" data-setup${hasCookie && html` data-has-cookie`}>
${accountName()}
${codeField(hasCookie, error)}
${choices(error?.code === "weak_token" || error?.code === "token_mismatch")}
<button class="wide">Finish setup</button></form>
${whereIsIt("Where is the generated token?", ways)}`;
  const title = "Choose the launcher token";
  const framed = entryCard(title, body, "roomy");
  return layout({ site: page, title, styles: ["entry.css"], scripts: ["setup.js"], body: framed });
}

function codeField(hasCookie: boolean, error: SetupFailure | undefined): Html {
  const wrong = error?.code === "invalid_code";
  const hint = hasCookie
    ? html`Your setup link already contained it. You can leave this field empty.`
    : html`Paste it here to prove that you own this service.`;
  return secretField({
    id: "code",
    label: "Generated token",
    autocomplete: "off",
    hint,
    ...(wrong && { describedBy: "failure" }),
    attributes: html`${!hasCookie && html` required autofocus`}${
      wrong && html` aria-invalid="true"`
    }`,
  });
}

function choices(useCustom: boolean): Html {
  const custom = { id: "token", label: "Your token", describedBy: "rules" };
  const confirm = { id: "confirm", label: "Your token again" };
  const rules = tokenRules.map((rule) => html`<li data-rule="${rule.id}">${rule.text}</li>`);
  return html`<fieldset class="choices"><legend>Sign in with</legend>
<label class="choice"><input type="radio" name="keep" value="true"${!useCustom && html` checked`}>
<span><b>The generated token</b>
<small>Long and random. Save a copy in your password manager.</small></span></label>
<label class="choice">
<input type="radio" name="keep" value="false" id="own"${useCustom && html` checked`}>
<span><b>Your own token</b><small>Replaces the generated token immediately.</small></span></label>
<div class="own">
${secretField({ ...custom, autocomplete: "new-password" })}
<ul class="rules" id="rules">${rules}</ul>
${secretField({ ...confirm, autocomplete: "new-password" })}
<p class="hint" role="status" data-rules-status></p>
</div></fieldset>`;
}
