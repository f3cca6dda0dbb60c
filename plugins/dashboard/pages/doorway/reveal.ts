/** Shows and hides the content of token fields. @module */

/**
 * Makes the button next to each token field show and hide the text.
 *
 * @param load - Runs before a field is shown, and may fill it. False leaves it hidden.
 */
export function enableRevealing(load?: (field: HTMLInputElement) => Promise<boolean>): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>(".secret .reveal")) {
    const field = button.previousElementSibling as HTMLInputElement;
    button.addEventListener("click", async () => {
      const isShown = field.type === "password";
      if (!isShown || !load || (await load(field))) setShown(field, isShown);
    });
    // Browsers store the values of visible text fields, so hide the token before the form is sent.
    field.form?.addEventListener("submit", () => setShown(field, false));
  }
}

/** Shows or hides the text of a field. */
export function setShown(field: HTMLInputElement, isShown: boolean): void {
  const button = field.nextElementSibling as HTMLButtonElement;
  field.type = isShown ? "text" : "password";
  button.ariaPressed = String(isShown);
  button.textContent = isShown ? "Hide" : "Show";
  button.ariaLabel = button.ariaLabel!.replace(/^\w+/, button.textContent);
}
