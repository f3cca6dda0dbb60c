// Creates and copies a sign-in link from the overview.
import { copy, shortcut } from "./copy.ts";
import { live, onClick, setLive } from "./dom.ts";
import { requestAsOwner } from "./owner.ts";

export function enableSignInLink(): void {
  const button = document.querySelector<HTMLButtonElement>("[data-sign-in-link]");
  const field = document.querySelector<HTMLInputElement>("#sign-in-link");
  const row = live("link-row");
  if (!button || !field || !row) return;
  onClick(button, async () => {
    const answer = await requestAsOwner<{ url: string; expiresAt: string }>(
      "POST",
      "/api/signin-links",
    );
    if ("error" in answer) {
      setLive("link-said", answer.error.message);
      return;
    }
    field.value = answer.body.url;
    row.hidden = false;
    const until = new Date(answer.body.expiresAt).toLocaleTimeString();
    const copied = await copy(field);
    setLive(
      "link-said",
      `${copied ? "Copied." : `Press ${shortcut()} to copy.`} Works once, until ${until}. ` +
        "If you sign out here, the other browser is signed out too.",
    );
  });
}
