/**
 * Runs before the browser paints a page of the console. Keeps what the user does before the code of
 * the page has loaded, and repeats it for the components. Links and submit buttons need no code.
 * Reloads the page if its script could not be loaded.
 *
 * @module
 */
import { isWaiting, readyEvent } from "./readiness.ts";

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Buttons in the order of their clicks. An impatient second click counts once. */
const buttons = new Set<HTMLElement>();
/** Changed fields. Components reset the values of their fields when they take over. */
const fields = new Map<Field, { readonly value: string; readonly checked: boolean }>();

addEventListener(
  "click",
  ({ target }) => {
    const button = target instanceof Element && target.closest<HTMLElement>("button[type=button]");
    if (button && isWaiting(button)) buttons.add(button);
  },
  true,
);
addEventListener("input", ({ target }) => {
  const field = target as Field;
  if (!isWaiting(field)) return;
  const { value } = field;
  fields.set(field, { value, checked: "checked" in field && field.checked });
});
addEventListener(readyEvent, () => {
  for (const [field, state] of fields) {
    if (isWaiting(field)) continue;
    fields.delete(field);
    field.value = state.value;
    if ("checked" in field) field.checked = state.checked;
    for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
  }
  for (const button of buttons) {
    if (isWaiting(button)) continue;
    buttons.delete(button);
    button.click();
  }
});

const minReloadMs = 1_000;
const maxReloadMs = 30_000;

/** A page without its script never reacts, and browsers remember that a module failed. */
addEventListener("load", () => {
  if (document.documentElement.dataset["ready"] !== undefined) return;
  // The state of the history entry survives the reload.
  const { reloadMs = minReloadMs } = (history.state ?? {}) as { readonly reloadMs?: number };
  history.replaceState({ reloadMs: Math.min(2 * reloadMs, maxReloadMs) }, "");
  const note = document.createElement("p");
  note.className = "toasts toast";
  note.role = "alert";
  note.textContent = "A script of this page could not be loaded. The page reloads.";
  document.body.append(note);
  setTimeout(() => location.reload(), reloadMs);
});
