// Starts the parts that every page for signed-in browsers has: times and sign-out.
import { sendRequest } from "./api.ts";
import { forgetChat } from "../ui/chat/state/forget.ts";
import { base } from "./dom.ts";
import { expectSessionEnd, leavePage } from "./stream.ts";
import { startTimes } from "./times.ts";

/** Starts the clock of the page and handles sign-out. */
export function startPage(): void {
  startTimes();
  const form = document.querySelector<HTMLFormElement>('form[action$="/logout"]');
  // The CSRF value in the form is invalid after a new sign-in; a request of a script needs none.
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    expectSessionEnd(signOut(form));
  });
}

async function signOut(form: HTMLFormElement): Promise<void> {
  const answer = await sendRequest("POST", "/logout");
  if (!("error" in answer)) forgetChat();
  await leavePage(() => ("error" in answer ? form.submit() : location.assign(`${base}/login`)));
}
