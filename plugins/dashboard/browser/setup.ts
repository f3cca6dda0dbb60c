import { ask, type Refusal } from "./api.ts";
import { enableCountdown } from "./countdown.ts";
import { base, make, setText } from "./dom.ts";
import { enableRevealing } from "./reveal.ts";
import { violatedRules, tokenRules } from "../ui/text/token-rules.ts";

enableRevealing();

const setupForm = document.querySelector<HTMLFormElement>("[data-setup]");
if (setupForm) enhance(setupForm);

/** Sends the form by `fetch`, which carries the true Origin, so that the setup cookie may stand in for the code. */
function enhance(form: HTMLFormElement): void {
  const field = (id: string): HTMLInputElement => form.querySelector<HTMLInputElement>(`#${id}`)!;
  const [code, token, confirm, own] = [
    field("code"),
    field("token"),
    field("confirm"),
    field("own"),
  ];
  const submit = form.querySelector<HTMLButtonElement>("button.wide")!;
  let stopCounting = (): void => undefined;

  const needCode = (needed: boolean): void => {
    form.querySelector<HTMLElement>('[data-field="code"]')!.hidden = !needed;
    code.required = needed;
  };
  const checkRules = (): void => showRules(form, token.value.trim(), confirm.value.trim());
  const refuse = (refused: Refusal): void => {
    if (refused.status === 409) return location.replace(`${base}/`); // set up meanwhile
    const cookieRanOut = refused.status === 401 && code.value === "";
    if (refused.status === 401) needCode(true);
    const message = "Too much time has passed: paste the generated token.";
    showFailure(cookieRanOut ? { ...refused, message } : refused);
    stopCounting = enableCountdown(submit, code);
    (refused.status === 401 ? code : refused.status === 422 ? token : submit).focus();
  };

  needCode(!("hasCookie" in form.dataset) || failed());
  stopCounting = enableCountdown(submit, code);
  for (const input of [token, confirm]) input.addEventListener("input", checkRules);
  checkRules();
  // What was wrong with an own token must not hold the form back once the generated one is chosen.
  form.addEventListener("change", () => {
    if (!own.checked) for (const input of [token, confirm]) input.setCustomValidity("");
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (own.checked && !acceptable(token, confirm)) return;
    stopCounting();
    submit.disabled = true;
    const choice = own.checked
      ? { token: token.value.trim(), confirm: confirm.value.trim() }
      : { keep: true };
    const answer = await ask("POST", "/setup", {
      ...(code.value.trim() && { code: code.value.trim() }),
      ...choice,
    });
    submit.disabled = false;
    if ("refused" in answer) refuse(answer.refused);
    else location.replace(`${base}/`);
  });
}

/** A code refused on the last page load must stay in sight. */
function failed(): boolean {
  return document.querySelector("#code[aria-invalid]") !== null;
}

/** Says at the field itself what is wrong; the browser shows it. */
function acceptable(token: HTMLInputElement, confirm: HTMLInputElement): boolean {
  const [broken] = violatedRules(token.value.trim());
  token.setCustomValidity(broken ? `A token has: ${broken.text}.` : "");
  confirm.setCustomValidity(
    token.value.trim() === confirm.value.trim() ? "" : "The two entries differ.",
  );
  const fine = token.reportValidity() && confirm.reportValidity();
  for (const input of [token, confirm]) {
    input.addEventListener("input", () => input.setCustomValidity(""), { once: true });
  }
  return fine;
}

function showRules(form: HTMLElement, token: string, confirm: string): void {
  const broken = new Set(violatedRules(token).map((rule) => rule.id));
  for (const rule of tokenRules) {
    const kept = token !== "" && !broken.has(rule.id);
    form.querySelector(`[data-rule="${rule.id}"]`)?.classList.toggle("kept", kept);
  }
  setText(
    form.querySelector("[data-rules-status]"),
    token === "" ? "" : verdict(broken.size, token, confirm),
  );
}

function verdict(broken: number, token: string, confirm: string): string {
  if (broken > 0)
    return broken === 1 ? "One rule is not kept yet." : `${broken} rules are not kept yet.`;
  if (confirm === "") return "All rules are kept. Type it once more.";
  return token === confirm
    ? "All rules are kept, and both entries are equal."
    : "The two entries differ.";
}

function showFailure({ message, retryAfterSeconds }: Refusal): void {
  const notice = make("div", "");
  notice.className = "notice bad";
  notice.id = "failure";
  notice.setAttribute("role", "alert");
  notice.append(make("p", message));
  document.querySelector("[data-failure-place]")?.replaceChildren(notice);
  if (retryAfterSeconds === undefined) return;
  const clock = make("span", "");
  clock.dataset["countdown"] = String(Math.ceil(retryAfterSeconds));
  clock.setAttribute("role", "timer");
  const end = make("span", "");
  end.dataset["countdownEnd"] = "";
  end.setAttribute("role", "status");
  // Beside the alert, not in it: an alert is read again at each change.
  const line = make("p", "", clock, end);
  line.className = "hint";
  notice.after(line);
}
