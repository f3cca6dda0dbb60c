import type { TestMethod, TestResult, TestView } from "../api/views.ts";
import { copy, copyText, enableCopying, shortcut } from "./copy.ts";
import { startDesk } from "./desk.ts";
import { button, el, live, setLive, setText, show } from "./dom.ts";
import { askOwner, load } from "./owner.ts";
import { askForToken } from "./secret-form.ts";
import { startStream } from "./stream.ts";
import { tokenPlaceholder } from "../ui/text/token-rules.ts";
import { testResultLabel } from "../ui/text/labels.ts";

startDesk();
enableCopying();
startStream({ refresh: () => load("/api/channels", () => undefined) });
for (const each of document.querySelectorAll<HTMLButtonElement>("[data-copy-with-token]")) {
  each.addEventListener("click", () => void copyWithToken(each.dataset["copyWithToken"] ?? ""));
}
const tryButton = document.querySelector<HTMLButtonElement>("[data-try]");
tryButton?.addEventListener("click", () => void tryEveryWay(tryButton));

/** The token is in the page only for as long as it takes to copy. */
async function copyWithToken(id: string): Promise<void> {
  const answer = await askForToken({
    title: "Copy with the channel token",
    text: "The copy holds the token in clear: paste it only where it may stay.",
    action: "Copy",
    send: (current) =>
      askOwner<{ token: string }>("POST", "/api/token/reveal", { which: "pico", current }),
  });
  if (!answer || "refused" in answer) return;
  const code = document.getElementById(id)?.textContent ?? "";
  const text = code.replace(tokenPlaceholder, () => answer.body.token);
  if (await copyText(text)) return setLive("copied", "Copied, with the token in it.");
  showToCopy(text);
}

/** For browsers that copy only what is selected. */
function showToCopy(text: string): void {
  const code = el("code", { tabindex: 0 }, text);
  const dialog: HTMLDialogElement = el(
    "dialog",
    { class: "card wide-dialog", "aria-labelledby": "to-copy" },
    el("h2", { id: "to-copy" }, `Press ${shortcut()} to copy`),
    el("pre", { class: "to-copy" }, code),
    el(
      "div",
      { class: "actions" },
      button("Done", "", () => dialog.close()),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  void copy(code);
}

async function tryEveryWay(button: HTMLButtonElement): Promise<void> {
  button.disabled = true;
  setLive("try-problem", "");
  const answer = await askOwner<TestView>("POST", "/api/channels/pico/try");
  button.disabled = false;
  if ("refused" in answer) return setLive("try-problem", answer.refused.message);
  for (const result of answer.body.results) showResult(result);
}

function showResult({ method, ok, code, ms }: TestResult): void {
  const row = live("tries")?.querySelector<HTMLElement>(
    `[data-method="${method satisfies TestMethod}"]`,
  );
  const badge = row?.querySelector<HTMLElement>("[data-result]");
  const off = code === "token_query_disabled";
  if (badge) badge.className = `badge ${ok ? "ok" : off ? "off" : "bad"}`;
  setText(badge, ok ? `Works, ${Math.round(ms)} ms` : off ? "Switched off" : "Refused");
  const why = row?.querySelector<HTMLElement>("[data-why]");
  setText(why, ok ? "" : testResultLabel(code));
  show(why, !ok);
}
