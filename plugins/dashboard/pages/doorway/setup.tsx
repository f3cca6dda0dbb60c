/** The page that asks for the launcher token after the first start. @module */
import type { JSX } from "preact";
import type { TokenWay } from "../../shared/views.ts";
import { Button } from "../parts/button.tsx";
import { Secret } from "../parts/field.tsx";
import { useSite } from "../site.tsx";
import { setupFailures, type SetupFailureCode } from "../../shared/doorway-failures.ts";
import { tokenRuleTexts } from "../../shared/token-rules.ts";
import { AccountName, Doorway, FailureNotice, TokenField } from "./parts.tsx";
import { TokenHints } from "./token-hints.tsx";

/** The failure of the last attempt. */
export interface SetupFailure {
  readonly code: SetupFailureCode;
  /** Replaces the sentence of the code, for example to name the rule a weak token violates. */
  readonly message?: string;
  readonly retryAfterSeconds?: number;
}

export interface SetupData {
  readonly error?: SetupFailure;
  /** True if a setup cookie replaces the setup code. It does so only for requests of scripts. */
  readonly hasCookie: boolean;
  readonly ways: readonly TokenWay[];
}

/**
 * One form with one button, so that Enter submits the selected option. The form sends `keep=true`,
 * or `keep=false` with `token` and `confirm`. With `keep=true` the server ignores the collapsed
 * fields.
 */
export function SetupPage({ data }: { readonly data: SetupData }): JSX.Element {
  const { url } = useSite();
  const { error, hasCookie, ways } = data;
  const isWrong = error?.code === "invalid_code";
  const failure = error && { ...error, text: error.message ?? setupFailures[error.code] };
  // With the cookie, the style sheet hides the code field from browsers that run scripts.
  const needsCode = !hasCookie || isWrong;
  return (
    <Doorway isRoomy>
      <p class="lead">Doorward generated a token for you. You'll use it to sign in.</p>
      <FailureNotice failure={failure} />
      <form
        method="post"
        action={url("/setup")}
        data-setup
        data-has-cookie={needsCode ? undefined : true}
      >
        <AccountName />
        <TokenField
          id="code"
          label="Generated token"
          hint="Paste it here to show that this service is yours."
          autocomplete="off"
          describedBy={isWrong ? "failure" : undefined}
          aria-invalid={isWrong || undefined}
          required={needsCode}
          autofocus={needsCode}
        />
        <Choices
          hasToken={!needsCode}
          isOwn={error?.code === "weak_token" || error?.code === "token_mismatch"}
        />
        <Button type="submit" kind="primary" block>
          Finish setup
        </Button>
      </form>
      <TokenHints question="Where is the generated token?" ways={ways} />
    </Doorway>
  );
}

interface ChoicesProps {
  /** True if this browser may show the generated token. */
  readonly hasToken: boolean;
  readonly isOwn: boolean;
}

function Choices({ hasToken, isOwn }: ChoicesProps): JSX.Element {
  return (
    <fieldset class="choices">
      <legend>Sign in with</legend>
      <label class="choice">
        <input type="radio" name="keep" value="true" checked={!isOwn} />
        <span>
          <b>The generated token</b>
          <small>Long and random. Save a copy in your password manager.</small>
        </span>
      </label>
      {hasToken && <GeneratedToken />}
      <label class="choice">
        <input type="radio" name="keep" value="false" id="own" checked={isOwn} />
        <span>
          <b>A token of your own</b>
          <small>Replaces the generated token immediately.</small>
        </span>
      </label>
      <div class="own">
        <TokenField id="token" label="Your token" autocomplete="new-password" describedBy="rules" />
        <ul class="rules" id="rules">
          {Object.entries(tokenRuleTexts).map(([id, text]) => (
            <li key={id} data-rule={id}>
              {text}
            </li>
          ))}
        </ul>
        <TokenField id="confirm" label="Your token again" autocomplete="new-password" />
        <p class="hint" role="status" data-rules-status />
      </div>
    </fieldset>
  );
}

/** The script fetches the token when the user shows or copies it. Without scripts it is hidden. */
function GeneratedToken(): JSX.Element {
  return (
    <div class="generated scripted">
      <label for="generated">Your generated token</label>
      <div class="row">
        <div class="grow">
          <Secret
            id="generated"
            secret="generated token"
            autocomplete="off"
            placeholder="••••••••••••••••••••••••"
            readOnly
          />
        </div>
        <Button data-copy>Copy</Button>
      </div>
      <span class="unseen" role="status" data-copied />
    </div>
  );
}
