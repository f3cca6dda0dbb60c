// Connect page: copies snippets and tests the channel.
import type { TestMethod, TestResult, TestView } from "../api/views.ts";
import { copy, copyText, enableCopying, shortcut } from "./copy.ts";
import { startPage } from "./page.ts";
import { button, el, live, setLive, setText, show } from "./dom.ts";
import { enableProtocolSwitches } from "./protocol-switch.ts";
import { requestAsOwner, load } from "./owner.ts";
import { askForToken } from "./secret-form.ts";
import { startStream } from "./stream.ts";
import { tokenPlaceholder } from "../ui/text/token-rules.ts";
import { testResultLabel, tokenLabel } from "../ui/text/labels.ts";

startPage();
enableCopying();
enableProtocolSwitches();
startStream({ refresh: () => load("/api/channels", () => undefined) });
for (const each of document.querySelectorAll<HTMLButtonElement>("[data-copy-with-token]")) {
  each.addEventListener("click", () => void copyWithToken(each.dataset));
}
const tryButton = document.querySelector<HTMLButtonElement>("[data-try]");
tryButton?.addEventListener("click", () => void testAllMethods(tryButton));

/** Copies a snippet with the token. The page removes the token after copying. */
async function copyWithToken({ copyWithToken: id = "", which = "pico" }: DOMStringMap) {
  const answer = await askForToken({
    title: `Copy with the ${tokenLabel(which).replace(/^Channel/, "channel")}`,
    text: "The clipboard will contain the token as plain text. Paste it only into a safe place.",
    action: "Copy",
    send: (current) =>
      requestAsOwner<{ token: string }>("POST", "/api/token/reveal", { which, current }),
  });
  if (!answer || "error" in answer) return;
  const code = document.getElementById(id)?.textContent ?? "";
  const text = code.replace(tokenPlaceholder, () => answer.body.token);
  if (await copyText(text))
    return setLive(which === "pico" ? "copied" : `${which}-said`, "Copied with the token.");
  showToCopy(text);
}

/** Shows the text selected, for browsers without clipboard access. */
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

async function testAllMethods(button: HTMLButtonElement): Promise<void> {
  button.disabled = true;
  setLive("try-problem", "");
  const answer = await requestAsOwner<TestView>("POST", "/api/channels/pico/try");
  button.disabled = false;
  if ("error" in answer) return setLive("try-problem", answer.error.message);
  for (const result of answer.body.results) showResult(result);
}

function showResult({ method, ok, code, ms }: TestResult): void {
  const row = live("tries")?.querySelector<HTMLElement>(
    `[data-method="${method satisfies TestMethod}"]`,
  );
  const badge = row?.querySelector<HTMLElement>("[data-result]");
  const isOff = code === "token_query_disabled";
  if (badge) badge.className = `badge ${ok ? "ok" : isOff ? "off" : "bad"}`;
  setText(badge, ok ? `OK, ${Math.round(ms)} ms` : isOff ? "Off" : "Rejected");
  const reason = row?.querySelector<HTMLElement>("[data-why]");
  setText(reason, ok ? "" : testResultLabel(code));
  show(reason, !ok);
}
