// Tokens page: one card per token, with actions to show and rotate it.
import type { TokenRow, TokensView } from "../api/views.ts";
import { startPage } from "./page.ts";
import { button, el, live } from "./dom.ts";
import { load } from "./owner.ts";
import { isRotatable, rotateToken, showToken } from "./token-dialogs.ts";
import { startStream } from "./stream.ts";
import { timeAgo } from "./times.ts";
import { tokenSourceLabel, tokenLabel } from "../ui/text/labels.ts";

const cards = live("tokens")!;
let shown = "";

startPage();
const refresh = () =>
  load<TokensView>("/api/tokens", ({ tokens }) => {
    const key = JSON.stringify(tokens);
    if (key === shown) return; // keeps the focus
    const focused = (document.activeElement as HTMLElement | null)?.dataset["act"];
    shown = key;
    cards.replaceChildren(...tokens.map(card));
    if (focused !== undefined) focusOn(focused);
  });
startStream({ refresh, refreshOn: ["token", "settings"] });

const purposes: Readonly<Record<string, string>> = {
  launcher: "Signs in to this dashboard. Rotating it signs out all other browsers.",
  pico: "Allows clients to connect to the channel.",
  pico_client:
    "Authenticates this service at the remote channel. " +
    "The remote server issues it, so change it by hand.",
  metrics: "Allows a monitoring system to read /metrics only.",
};

function card(token: TokenRow): HTMLElement {
  const { name, managedByEnv, changedAt, concern, others } = token;
  const actions = actionsOf(token);
  const id = `h-${name}`;
  return el(
    "section",
    { class: "card", "aria-labelledby": id },
    el("h2", { id }, tokenLabel(name)),
    el(
      "p",
      { class: "quiet-text" },
      purposes[name] ?? `Token of the channel ${name}. To change it: doorward token set ${name}`,
    ),
    el(
      "dl",
      { class: "facts" },
      detail("Source", tokenSourceLabel(token)),
      managedByEnv &&
        token.variable !== undefined &&
        el(
          "div",
          { class: "stacked" },
          el("dt", {}, "Variable"),
          el("dd", {}, el("code", {}, token.variable)),
        ),
      changedAt !== undefined && detail("Last changed", timeAgo(changedAt)),
      token.source !== "none" &&
        detail(
          "Strength",
          concern === undefined
            ? el("span", { class: "badge ok" }, "Good")
            : el("span", { class: "badge warn" }, "Weak"),
        ),
    ),
    concern !== undefined && el("p", { class: "notice warn" }, `${toSentence(concern)} Rotate it.`),
    ...others
      .filter(({ same }) => !same)
      .map(({ source }) =>
        el(
          "p",
          { class: "notice warn" },
          `${sourceLabel(source, name)} contains a different value, which is not used. ` +
            "Remove it to avoid confusion.",
        ),
      ),
    managedByEnv &&
      el("p", { class: "hint" }, "To change it, set the environment variable and restart."),
    actions.length > 0 && el("div", { class: "token-actions" }, ...actions),
  );
}

function actionsOf({ name, managedByEnv, source }: TokenRow): HTMLElement[] {
  if (!isRotatable(name)) return [];
  const act = (kind: string, text: string, run: () => unknown): HTMLElement => {
    const made = button(text, "quiet", run);
    made.dataset["act"] = `${kind}-${name}`;
    made.setAttribute(
      "aria-label",
      `${text.replace("…", "")} the ${tokenLabel(name).toLowerCase()}`,
    );
    return made;
  };
  const rotate =
    !managedByEnv &&
    source !== "host" &&
    act("replace", source === "none" ? "Create…" : "Rotate…", async () => {
      await rotateToken(name);
      await refresh();
      focusOn(`replace-${name}`); // the refresh removed the button that had the focus
    });
  const reveal =
    name !== "launcher" && source !== "none" && act("show", "Show…", () => showToken(name));
  return [rotate, reveal].filter((each) => each !== false);
}

function focusOn(act: string): void {
  cards.querySelector<HTMLElement>(`[data-act="${act}"]`)?.focus();
}

function detail(name: string, value: Node | string): HTMLElement {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

function sourceLabel(source: string, name: string): string {
  const token = { name, source: source as TokenRow["source"], managedByEnv: false };
  return tokenSourceLabel(token).replace(/^[a-z](?=[a-z ]+$)/, (letter) => letter.toUpperCase());
}

const toSentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;
