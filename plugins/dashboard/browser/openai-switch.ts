// Turns the OpenAI protocol on and off from the Connect page.
import { live, setLive } from "./dom.ts";
import { requestAsOwner } from "./owner.ts";

const changedMessage = "The settings changed in the meantime. Reload the page and try again.";

/** Enables the button, if the page has one. The page reloads, because its snippets change. */
export function enableOpenaiSwitch(): void {
  const button = document.querySelector<HTMLButtonElement>("[data-openai]");
  button?.addEventListener("click", async () => {
    button.disabled = true;
    const enabled = button.dataset["openai"] === "on";
    const { etag = "" } = button.dataset;
    const answer = await requestAsOwner("PUT", "/api/channels/openai", { enabled }, etag);
    if (!("error" in answer)) return location.reload();
    button.disabled = false;
    const { status, message } = answer.error;
    setLive("openai-said", status === 412 ? changedMessage : message);
    live("openai-said")?.classList.add("problem");
  });
}
