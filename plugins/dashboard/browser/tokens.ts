import type { TokenRow, TokensView } from "../api/views.ts";
import { startDesk } from "./desk.ts";
import { button, el, live } from "./dom.ts";
import { load } from "./owner.ts";
import { replaceToken, showToken } from "./token-dialogs.ts";
import { startStream } from "./stream.ts";
import { timeAgo } from "./times.ts";
import { tokenSourceLabel, tokenLabel } from "../ui/text/labels.ts";

const cards = live("tokens")!;
let shown = "";

startDesk();
const refresh = () =>
  load<TokensView>("/api/tokens", ({ tokens }) => {
    const key = JSON.stringify(tokens);
    if (key === shown) return; // the focus stays where it is
    const focused = (document.activeElement as HTMLElement | null)?.dataset["act"];
    shown = key;
    cards.replaceChildren(...tokens.map(card));
    if (focused !== undefined) focusOn(focused);
  });
startStream({ refresh, news: ["token", "settings"] });

const purposes: Readonly<Record<string, string>> = {
  launcher: "Opens this dashboard. Replacing it signs every other browser out.",
  pico: "Lets programs into the pico channel.",
  pico_client:
    "What this service shows at the remote channel. It is issued there, so it is changed by hand.",
  metrics: "Lets a monitoring system read /metrics, and nothing else.",
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
      purposes[name] ?? `Of the channel ${name}. Changed by a command: doorward token set ${name}`,
    ),
    el(
      "dl",
      { class: "facts" },
      fact("Comes from", tokenSourceLabel(token)),
      managedByEnv &&
        token.variable !== undefined &&
        el(
          "div",
          { class: "stacked" },
          el("dt", {}, "Variable"),
          el("dd", {}, el("code", {}, token.variable)),
        ),
      changedAt !== undefined && fact("Last changed", timeAgo(changedAt)),
      token.source !== "none" &&
        fact(
          "Strength",
          concern === undefined
            ? el("span", { class: "badge ok" }, "Good")
            : el("span", { class: "badge warn" }, "Weak"),
        ),
    ),
    concern !== undefined && el("p", { class: "notice warn" }, `${sentence(concern)} Replace it.`),
    ...others
      .filter(({ same }) => !same)
      .map(({ source }) =>
        el(
          "p",
          { class: "notice warn" },
          `${placeOf(source, name)} holds another value, which is not used. Whoever reads that file is misled.`,
        ),
      ),
    managedByEnv &&
      el(
        "p",
        { class: "hint" },
        "Only the environment changes it: set the variable there and restart.",
      ),
    actions.length > 0 && el("div", { class: "token-actions" }, ...actions),
  );
}

function actionsOf({ name, managedByEnv, source }: TokenRow): HTMLElement[] {
  if (name !== "launcher" && name !== "pico") return [];
  const act = (kind: string, text: string, run: () => unknown): HTMLElement => {
    const made = button(text, "quiet", run);
    made.dataset["act"] = `${kind}-${name}`;
    made.setAttribute(
      "aria-label",
      `${text.replace("…", "")} the ${tokenLabel(name).toLowerCase()}`,
    );
    return made;
  };
  const replace =
    !managedByEnv &&
    source !== "host" &&
    act("replace", source === "none" ? "Create…" : "Replace…", async () => {
      await replaceToken(name);
      await refresh();
      focusOn(`replace-${name}`); // the dialog gave the focus back to a button that is gone
    });
  const reveal = name === "pico" && source !== "none" && act("show", "Show…", showToken);
  return [replace, reveal].filter((each) => each !== false);
}

function focusOn(act: string): void {
  cards.querySelector<HTMLElement>(`[data-act="${act}"]`)?.focus();
}

function fact(name: string, value: Node | string): HTMLElement {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

function placeOf(source: string, name: string): string {
  return tokenSourceLabel({
    name,
    source: source as TokenRow["source"],
    managedByEnv: false,
  }).replace(/^t/, "T");
}

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;
