/** Signs out from a page. @module */
import { sendRequest } from "../live/api.ts";
import { forgetStored } from "../live/storage.ts";
import { base } from "../live/base.ts";
import { expectSessionEnd, leavePage } from "../live/stream.ts";

/**
 * Handles the submission of the sign-out form. The CSRF value in the form is invalid after a new
 * sign-in; a request of a script needs none.
 */
export function signOut(event: SubmitEvent): void {
  event.preventDefault();
  expectSessionEnd(send(event.target as HTMLFormElement));
}

async function send(form: HTMLFormElement): Promise<void> {
  const answer = await sendRequest<{ next?: string }>("POST", "/logout");
  if ("error" in answer) return leavePage(() => form.submit());
  forgetStored();
  await leavePage(() => location.assign(answer.body.next ?? `${base()}/login`));
}
