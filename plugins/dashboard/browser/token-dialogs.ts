// Dialogs that rotate and show tokens.
import type { RotatedView } from "../api/views.ts";
import { enableCopying } from "./copy.ts";
import { button, el, setText } from "./dom.ts";
import { requestAsOwner } from "./owner.ts";
import { askForToken } from "./secret-form.ts";
import { expectSessionEnd } from "./stream.ts";
import { violatedRules } from "../ui/text/token-rules.ts";
import { tokenLabel } from "../ui/text/labels.ts";

type Which = RotatedView["which"];

const gracePeriods = [
  [0, "Immediately (after a leak)"],
  [60, "Over 1 minute"],
  [600, "Over 10 minutes"],
  [3600, "Over 1 hour"],
] as const;
const consequences: Readonly<Record<Which, string>> = {
  launcher: "All other browsers are signed out, and existing sign-in links stop working.",
  pico:
    "The old token stops working immediately. " +
    "Clients connected with it are disconnected and need the new token.",
  openai:
    "The old token stops working immediately. " +
    "Replies in progress end, and OpenAI clients need the new token.",
  ai_sdk:
    "The old token stops working immediately. " +
    "Streams in progress end, and pages with the AI SDK need the new token.",
  ag_ui:
    "The old token stops working immediately. " +
    "Runs in progress end for their clients, which need the new token.",
};

/** True for tokens that this page can rotate. */
export const isRotatable = (name: string): name is Which => Object.hasOwn(consequences, name);

/** Asks for the new token or generates one, rotates the token and shows it once. */
export async function rotateToken(which: Which): Promise<void> {
  const choice = createTokenChoice();
  const grace = el(
    "select",
    { id: "grace" },
    ...gracePeriods.map(([value, text]) => el("option", { value }, text)),
  );
  const answer = await askForToken({
    title: `Rotate the ${tokenLabel(which).toLowerCase()}`,
    text: consequences[which],
    action: "Rotate",
    label: which === "launcher" ? "Current launcher token" : "Launcher token",
    fields: el(
      "div",
      { class: "dialog-fields" },
      choice.element,
      which === "pico" &&
        el("div", { class: "field" }, el("label", { for: "grace" }, "Disconnect clients"), grace),
    ),
    send: (current) => {
      const token = choice.value();
      if (token === undefined) return undefined;
      const request = requestAsOwner<RotatedView>("POST", "/api/token/rotate", {
        which,
        current,
        ...(token !== "" && { token }),
        ...(which === "pico" && { grace: Number(grace.value) }),
      });
      expectSessionEnd(request);
      return request;
    },
  });
  const text = "The new token is active. Save it in a password manager. This page shows it once.";
  if (answer && "body" in answer) await showOnce(which, answer.body.token, text);
}

export async function showToken(which: Exclude<Which, "launcher">): Promise<void> {
  const answer = await askForToken({
    title: `Show the ${tokenLabel(which).toLowerCase()}`,
    text: "The token appears on the screen. Make sure that no one else can see it.",
    action: "Show",
    send: (current) =>
      requestAsOwner<{ token: string }>("POST", "/api/token/reveal", { which, current }),
  });
  if (answer && "body" in answer)
    await showOnce(which, answer.body.token, "Anyone with this token can connect as a client.");
}

/**
 * Creates the choice between a generated token and a custom one.
 *
 * @returns `value()` returns `""` for a generated token, or undefined if the custom one is invalid.
 */
function createTokenChoice(): { element: HTMLElement; value(): string | undefined } {
  const choice = el("input", { type: "checkbox", id: "own-choice" });
  const field = el("input", {
    id: "own",
    class: "mono",
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
    "aria-describedby": "own-rules",
  });
  const rules = el("p", { class: "hint", id: "own-rules", role: "status" });
  const box = el(
    "div",
    { class: "field", hidden: true },
    el("label", { for: "own" }, "New token"),
    field,
    rules,
  );
  const showRules = (): void => {
    const [violated] = violatedRules(field.value.trim());
    setText(rules, violated ? `Required: ${violated.text}.` : "All rules are met.");
    if (!violated) field.removeAttribute("aria-invalid");
  };
  choice.addEventListener("change", () => {
    box.hidden = !choice.checked;
    showRules();
    if (choice.checked) field.focus();
  });
  field.addEventListener("input", showRules);
  const element = el(
    "div",
    { class: "dialog-fields" },
    el("label", { class: "switch", for: "own-choice" }, choice, "Use my own token"),
    box,
  );
  return {
    element,
    value() {
      if (!choice.checked) return "";
      const token = field.value.trim();
      if (violatedRules(token).length === 0) return token;
      field.setAttribute("aria-invalid", "true");
      field.focus();
      return undefined;
    },
  };
}

/** Shows a token in a dialog. The page removes the value when the dialog closes. */
function showOnce(which: Which, token: string, text: string): Promise<void> {
  const value = el("input", {
    id: "token-value",
    class: "mono value",
    readonly: true,
    "aria-label": tokenLabel(which),
  });
  value.value = token;
  const copy = el(
    "button",
    { type: "button", class: "quiet", "data-copy": "token-value", autofocus: true },
    "Copy",
  );
  const dialog: HTMLDialogElement = el(
    "dialog",
    { class: "card wide-dialog", "aria-labelledby": "token-title" },
    el("h2", { id: "token-title" }, tokenLabel(which)),
    el("p", {}, text),
    el("div", { class: "copyable" }, value, copy),
    el(
      "div",
      { class: "actions" },
      button("Done", "", () => dialog.close()),
    ),
  );
  document.body.append(dialog);
  enableCopying(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        value.value = "";
        dialog.remove();
        resolve();
      },
      { once: true },
    );
  });
}
