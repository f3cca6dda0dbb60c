/** The overview's button that makes a sign-in link and copies it. @module */
import { copy, shortcut } from "./copy.ts";
import { live, onClick, setLive } from "./dom.ts";
import { askOwner } from "./owner.ts";

export function enableSignInLink(): void {
  const button = document.querySelector<HTMLButtonElement>("[data-sign-in-link]");
  const field = document.querySelector<HTMLInputElement>("#sign-in-link");
  const row = live("link-row");
  if (!button || !field || !row) return;
  onClick(button, async () => {
    const answer = await askOwner<{ url: string; expiresAt: string }>("POST", "/api/signin-links");
    if ("refused" in answer) {
      setLive("link-said", answer.refused.message);
      return;
    }
    field.value = answer.body.url;
    row.hidden = false;
    const until = new Date(answer.body.expiresAt).toLocaleTimeString();
    const copied = await copy(field);
    setLive(
      "link-said",
      `${copied ? "Copied." : `Selected: press ${shortcut()}.`} Works once, until ${until}. ` +
        "When you sign out here, the other browser is signed out too.",
    );
  });
}
