import type { RotatedView } from "../api/views.ts";
import { enableCopying } from "./copy.ts";
import { button, el, setText } from "./dom.ts";
import { askOwner } from "./owner.ts";
import { askForToken } from "./secret-form.ts";
import { expectEnd } from "./stream.ts";
import { violatedRules } from "../ui/text/token-rules.ts";
import { tokenLabel } from "../ui/text/labels.ts";

type Which = "launcher" | "pico";

const graces = [
  [0, "At once, as after a leak"],
  [60, "Over 1 minute"],
  [600, "Over 10 minutes"],
  [3600, "Over 1 hour"],
] as const;
const consequence: Readonly<Record<Which, string>> = {
  launcher: "Every other browser is signed out, and sign-in links made before stop working.",
  pico: "The old token stops working at once. Clients connected with it are disconnected and need the new one.",
};

/** Asks what the new token is to be, replaces, and shows it once. */
export async function replaceToken(which: Which): Promise<void> {
  const own = ownToken();
  const grace = el(
    "select",
    { id: "grace" },
    ...graces.map(([value, text]) => el("option", { value }, text)),
  );
  const answer = await askForToken({
    title: `Replace the ${tokenLabel(which).toLowerCase()}`,
    text: consequence[which],
    action: "Replace",
    label: which === "launcher" ? "Present launcher token" : "Launcher token",
    fields: el(
      "div",
      { class: "dialog-fields" },
      own.element,
      which === "pico" &&
        el(
          "div",
          { class: "field" },
          el("label", { for: "grace" }, "Disconnect the clients"),
          grace,
        ),
    ),
    send: (current) => {
      const token = own.value();
      if (token === undefined) return undefined;
      const request = askOwner<RotatedView>("POST", "/api/token/rotate", {
        which,
        current,
        ...(token !== "" && { token }),
        ...(which === "pico" && { grace: Number(grace.value) }),
      });
      expectEnd(request);
      return request;
    },
  });
  const news =
    "The new token works from now on. Keep it in a password manager: this page shows it once.";
  if (answer && "body" in answer) await showOnce(which, answer.body.token, news);
}

export async function showToken(): Promise<void> {
  const answer = await askForToken({
    title: "Show the channel token",
    text: "It appears on the screen, so see who is looking.",
    action: "Show",
    send: (current) =>
      askOwner<{ token: string }>("POST", "/api/token/reveal", { which: "pico", current }),
  });
  if (answer && "body" in answer)
    await showOnce("pico", answer.body.token, "Who has it may connect as a client.");
}

/** A generated token, or one's own with the rules checked while it is typed. */
function ownToken(): { element: HTMLElement; value(): string | undefined } {
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
  const say = (): void => {
    const [broken] = violatedRules(field.value.trim());
    setText(rules, broken ? `Needed: ${broken.text}.` : "All rules are kept.");
    if (!broken) field.removeAttribute("aria-invalid");
  };
  choice.addEventListener("change", () => {
    box.hidden = !choice.checked;
    say();
    if (choice.checked) field.focus();
  });
  field.addEventListener("input", say);
  const element = el(
    "div",
    { class: "dialog-fields" },
    el(
      "label",
      { class: "switch", for: "own-choice" },
      choice,
      "Use a token of my own, not a generated one",
    ),
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

/** The value leaves the page with the dialog. */
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
