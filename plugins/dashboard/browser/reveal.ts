// Shows and hides the content of password fields.
import { setText } from "./dom.ts";

/** Makes every `data-reveal="<id>"` button show and hide the secret in that field. */
export function enableRevealing(root: ParentNode = document): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>("[data-reveal]")) {
    const field = root.querySelector(`#${button.dataset["reveal"]}`);
    if (!(field instanceof HTMLInputElement)) continue;
    const show = (shown: boolean): void => {
      field.type = shown ? "text" : "password";
      button.setAttribute("aria-pressed", String(shown));
      setText(button, shown ? "Hide" : "Show");
    };
    button.addEventListener("click", () => show(field.type === "password"));
    // Browsers store the values of visible text fields, so hide the token before the form is sent.
    field.form?.addEventListener("submit", () => show(false));
  }
}
