/** The sign-in page: a form for the launcher token, or one button for a sign-in link. @module */
import type { JSX } from "preact";
import type { TokenWay } from "../../shared/views.ts";
import { Button } from "../parts/button.tsx";
import { useSite } from "../site.tsx";
import { signInFailures, type SignInFailureCode } from "../../shared/doorway-failures.ts";
import { AccountName, Doorway, FailureNotice, TokenField, type Failure } from "./parts.tsx";
import { TokenHints } from "./token-hints.tsx";

/** The failure of the last attempt. */
interface SignInFailure {
  readonly code: SignInFailureCode;
  readonly retryAfterSeconds?: number;
}

export interface SignInData {
  /** Path to open after sign-in. The server validates it when the form returns it. */
  readonly next?: string;
  readonly error?: SignInFailure;
  readonly ways: readonly TokenWay[];
  /** Value of a sign-in link. The page then shows one button that uses the link. */
  readonly link?: string;
}

export function SignInPage({ data }: { readonly data: SignInData }): JSX.Element {
  const { error, link } = data;
  const failure = error && { ...error, text: signInFailures[error.code] };
  return (
    <Doorway>
      <FailureNotice failure={failure} />
      {link === undefined ? (
        <TokenForm data={data} failure={failure} />
      ) : (
        <LinkForm data={data} link={link} />
      )}
    </Doorway>
  );
}

interface TokenFormProps {
  readonly data: SignInData;
  readonly failure: Failure | undefined;
}

function TokenForm({ data: { next, error, ways }, failure }: TokenFormProps): JSX.Element {
  const { url } = useSite();
  const isWrong = error?.code === "invalid_token" || error?.code === "invalid_body";
  return (
    <>
      <form method="post" action={url("/login")} data-sign-in>
        <AccountName />
        <Next path={next} />
        <TokenField
          id="token"
          label="Launcher token"
          autocomplete="current-password"
          describedBy={failure && "failure"}
          aria-invalid={isWrong || undefined}
          required
          autofocus
        />
        <Button type="submit" kind="primary" block>
          Sign in
        </Button>
      </form>
      <TokenHints question="Where is my token?" ways={ways} />
    </>
  );
}

function LinkForm({ data: { next }, link }: { data: SignInData; link: string }): JSX.Element {
  const { url } = useSite();
  return (
    <>
      <p class="lead">
        You opened a sign-in link. It works once and expires five minutes after it was created.
      </p>
      <form method="post" action={url("/login")}>
        <Next path={next} />
        <input type="hidden" name="token" value={link} />
        <Button type="submit" kind="primary" block autofocus>
          Sign in
        </Button>
      </form>
      <p class="aside">
        <a href={url("/login")}>Sign in with the token instead</a>
      </p>
    </>
  );
}

function Next({ path }: { readonly path: string | undefined }): JSX.Element | null {
  return path === undefined ? null : <input type="hidden" name="next" value={path} />;
}
