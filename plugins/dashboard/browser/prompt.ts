// Asks in a dialog before an action, or for one line of text.
import { button, el } from "./dom.ts";

interface Prompt {
  readonly title: string;
  /** Explains the consequences. */
  readonly text: string;
  /** Label of the button that does it. */
  readonly action: string;
  /** A text field with this label and first value. */
  readonly field?: { readonly label: string; readonly value: string; readonly maxLength: number };
}

/** @returns The text of the field ("" without one), or undefined if the user cancels. */
export function ask({ title, text, action, field }: Prompt): Promise<string | undefined> {
  const input = el("input", {
    id: "prompt-field",
    autocomplete: "off",
    maxlength: field?.maxLength,
  });
  input.value = field?.value ?? "";
  const cancel = button("Cancel", "quiet", () => dialog.close());
  const form = el(
    "form",
    { method: "dialog" },
    el("h2", { id: "prompt-title" }, title),
    el("p", { id: "prompt-text" }, text),
    field &&
      el("div", { class: "field" }, el("label", { for: "prompt-field" }, field.label), input),
    el("div", { class: "actions" }, cancel, el("button", {}, action)),
  );
  const dialog = el(
    "dialog",
    { class: "card", "aria-labelledby": "prompt-title", "aria-describedby": "prompt-text" },
    form,
  );
  document.body.append(dialog);
  return new Promise((resolve) => {
    form.addEventListener("submit", () => resolve(input.value.trim()));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(undefined);
    });
    dialog.showModal();
    if (field) input.select();
    else cancel.focus();
  });
}
