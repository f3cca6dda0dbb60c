import { ask } from "./api.ts";
import { base } from "./dom.ts";
import { expectEnd, leaving } from "./stream.ts";
import { startTimes } from "./times.ts";

/** What every page behind the door does. */
export function startDesk(): void {
  startTimes();
  const form = document.querySelector<HTMLFormElement>('form[action$="/logout"]');
  // The hidden value belongs to the session the page was made for; a request of a script needs none.
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    expectEnd(leaving);
    const answer = await ask("POST", "/logout");
    if ("refused" in answer) form.submit();
    else location.assign(`${base}/login`);
  });
}
