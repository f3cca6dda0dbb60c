/** Signs out from a page. @module */
import { sendRequest } from "../live/api.ts";
import { base } from "../live/base.ts";
import { expectSessionEnd, leavePage } from "../live/stream.ts";

const listeners = new Set<() => void>();

/** Calls `act` after a sign-out, for example to forget drafts. */
export function onSignedOut(act: () => void): void {
  listeners.add(act);
}

/** Tells the listeners that this browser is signed out. */
export function forgetSignedOut(): void {
  for (const act of listeners) act();
}

/**
 * Handles the submission of the sign-out form. The CSRF value in the form is invalid after a new
 * sign-in; a request of a script needs none.
 */
export function signOut(event: SubmitEvent): void {
  event.preventDefault();
  expectSessionEnd(send(event.target as HTMLFormElement));
}

async function send(form: HTMLFormElement): Promise<void> {
  const answer = await sendRequest("POST", "/logout");
  if (!("error" in answer)) forgetSignedOut();
  await leavePage(() => ("error" in answer ? form.submit() : location.assign(`${base()}/login`)));
}
