// Turns protocols of other products on and off from the Connect page.
import { live, setLive } from "./dom.ts";
import { requestAsOwner } from "./owner.ts";

const changedMessage = "The settings changed in the meantime. Reload the page and try again.";

/** Enables the buttons. The page reloads after a change, because its snippets change. */
export function enableProtocolSwitches(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-protocol]"))
    button.addEventListener("click", () => void turn(button));
}

async function turn(button: HTMLButtonElement): Promise<void> {
  button.disabled = true;
  const { protocol = "", etag = "" } = button.dataset;
  const enabled = button.dataset["turn"] === "on";
  const answer = await requestAsOwner("PUT", `/api/channels/${protocol}`, { enabled }, etag);
  if (!("error" in answer)) return location.reload();
  button.disabled = false;
  const { status, message } = answer.error;
  setLive(`${protocol}-said`, status === 412 ? changedMessage : message);
  live(`${protocol}-said`)?.classList.add("problem");
}
