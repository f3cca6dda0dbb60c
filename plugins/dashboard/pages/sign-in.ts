// Renders the sign-in page.
import { html, type Html } from "./html.ts";
import { entryCard, layout, type Site } from "./layout.ts";
import { accountName, failure, secretField } from "./fields.ts";
import { whereIsIt, type TokenWay } from "./ways.ts";

export interface SignInFailure {
  readonly code:
    | "invalid_token"
    | "rate_limited"
    | "link_expired"
    | "invalid_body"
    | "origin_not_allowed"
    | "session_ended";
  readonly retryAfterSeconds?: number;
}

interface SignInPage extends Site {
  /** Path to open after sign-in. The server validates it when the form returns it. */
  readonly next?: string;
  readonly error?: SignInFailure;
  readonly ways: readonly TokenWay[];
  /** Value of a sign-in link. The page then shows one button that uses the link. */
  readonly link?: string;
}

const sentences: Readonly<Record<SignInFailure["code"], string>> = {
  // Covers used sign-in links too, so that the response does not reveal which one was wrong.
  invalid_token:
    "That is not the launcher token. Check that you copied all of it. " +
    "A sign-in link works once and expires after five minutes.",
  rate_limited: "This address sent too many wrong tokens.",
  link_expired: "This sign-in link was used already or is too old. Sign in with the token.",
  invalid_body: "Enter the launcher token.",
  origin_not_allowed: "Another site sent this form, so it was rejected. Sign in here.",
  session_ended: "Your session has ended. Sign in again.",
};

export function signInPage(page: SignInPage): string {
  const body = page.link === undefined ? tokenForm(page) : linkForm(page, page.link);
  return layout({
    site: page,
    title: "Sign in",
    styles: ["entry.css"],
    scripts: ["sign-in.js"],
    body: entryCard("Sign in", body),
  });
}

function tokenForm({ url, next, error, ways }: SignInPage): Html {
  const wrong = error?.code === "invalid_token" || error?.code === "invalid_body";
  return html`${error && failure(sentences[error.code], error.retryAfterSeconds)}
<form method="post" action="${url("/login")}" data-sign-in>${accountName()}${hiddenNext(next)}
${secretField({
  id: "token",
  label: "Launcher token",
  autocomplete: "current-password",
  ...(error && { describedBy: "failure" }),
  attributes: html` required autofocus${wrong && html` aria-invalid="true"`}`,
})}
<button class="wide">Sign in</button></form>
${whereIsIt("Where is my token?", ways)}`;
}

function linkForm({ url, next, error }: SignInPage, link: string): Html {
  return html`${error && failure(sentences[error.code], error.retryAfterSeconds)}
<p class="lead">You opened a sign-in link. It works once and expires five minutes after it was
created.</p>
<form method="post" action="${url("/login")}">${hiddenNext(next)}
<input type="hidden" name="token" value="${link}">
<button class="wide" autofocus>Sign in</button></form>
<p class="aside"><a href="${url("/login")}">Sign in with the token instead</a></p>`;
}

function hiddenNext(next: string | undefined): Html {
  return html`${next !== undefined && html`<input type="hidden" name="next" value="${next}">`}`;
}
