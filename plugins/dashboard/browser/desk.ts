import { ask } from "./api.ts";
import { forgetNames } from "./chat-names.ts";
import { base } from "./dom.ts";
import { expectEnd, leave } from "./stream.ts";
import { startTimes } from "./times.ts";

/** What every page behind the door does. */
export function startDesk(): void {
  startTimes();
  const form = document.querySelector<HTMLFormElement>('form[action$="/logout"]');
  // The hidden value belongs to the session the page was made for; a request of a script needs none.
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    expectEnd(signOut(form));
  });
}

async function signOut(form: HTMLFormElement): Promise<void> {
  const answer = await ask("POST", "/logout");
  if (!("refused" in answer)) forgetNames();
  await leave(() => ("refused" in answer ? form.submit() : location.assign(`${base}/login`)));
}
