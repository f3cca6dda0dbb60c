// Setup page: checks the token rules while the user types, and sends the form.
import { sendRequest, type ApiError } from "../ui/live/api.ts";
import { base } from "../ui/live/base.ts";
import { enableCountdown } from "./countdown.ts";
import { make, setText } from "./dom.ts";
import { enableRevealing } from "./reveal.ts";
import { violatedRules, tokenRules } from "../ui/text/token-rules.ts";

enableRevealing();

const setupForm = document.querySelector<HTMLFormElement>("[data-setup]");
if (setupForm) enhance(setupForm);

/** Sends the form by `fetch`. Its Origin header is set, so the setup cookie is sufficient. */
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

  const requireCode = (needed: boolean): void => {
    form.querySelector<HTMLElement>('[data-field="code"]')!.hidden = !needed;
    code.required = needed;
  };
  const checkRules = (): void => showRules(form, token.value.trim(), confirm.value.trim());
  const handleError = (error: ApiError): void => {
    if (error.status === 409) return location.replace(`${base()}/`); // setup was already completed
    const cookieExpired = error.status === 401 && code.value === "";
    if (error.status === 401) requireCode(true);
    const message = "The setup link has expired. Paste the generated token.";
    showFailure(cookieExpired ? { ...error, message } : error);
    stopCounting = enableCountdown(submit, code);
    (error.status === 401 ? code : error.status === 422 ? token : submit).focus();
  };

  requireCode(!("hasCookie" in form.dataset) || isCodeInvalid());
  stopCounting = enableCountdown(submit, code);
  for (const input of [token, confirm]) input.addEventListener("input", checkRules);
  checkRules();
  // Errors in the custom token must not block the form once the generated token is selected.
  form.addEventListener("change", () => {
    if (!own.checked) for (const input of [token, confirm]) input.setCustomValidity("");
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (own.checked && !validateToken(token, confirm)) return;
    stopCounting();
    submit.disabled = true;
    const choice = own.checked
      ? { token: token.value.trim(), confirm: confirm.value.trim() }
      : { keep: true };
    const answer = await sendRequest("POST", "/setup", {
      ...(code.value.trim() && { code: code.value.trim() }),
      ...choice,
    });
    submit.disabled = false;
    if ("error" in answer) handleError(answer.error);
    else location.replace(`${base()}/`);
  });
}

/** True if the server rejected the code when it rendered this page. The field must stay visible. */
function isCodeInvalid(): boolean {
  return document.querySelector("#code[aria-invalid]") !== null;
}

/** Reports problems through the validation messages of the browser. */
function validateToken(token: HTMLInputElement, confirm: HTMLInputElement): boolean {
  const [violated] = violatedRules(token.value.trim());
  token.setCustomValidity(violated ? `Required: ${violated.text}.` : "");
  confirm.setCustomValidity(
    token.value.trim() === confirm.value.trim() ? "" : "The two entries differ.",
  );
  const isValid = token.reportValidity() && confirm.reportValidity();
  for (const input of [token, confirm]) {
    input.addEventListener("input", () => input.setCustomValidity(""), { once: true });
  }
  return isValid;
}

function showRules(form: HTMLElement, token: string, confirm: string): void {
  const violated = new Set(violatedRules(token).map((rule) => rule.id));
  for (const rule of tokenRules) {
    const isMet = token !== "" && !violated.has(rule.id);
    form.querySelector(`[data-rule="${rule.id}"]`)?.classList.toggle("met", isMet);
  }
  setText(
    form.querySelector("[data-rules-status]"),
    token === "" ? "" : rulesStatus(violated.size, token, confirm),
  );
}

function rulesStatus(violations: number, token: string, confirm: string): string {
  if (violations > 0)
    return violations === 1 ? "1 rule is not met yet." : `${violations} rules are not met yet.`;
  if (confirm === "") return "All rules are met. Confirm your token.";
  return token === confirm
    ? "All rules are met, and both entries match."
    : "The two entries differ.";
}

function showFailure({ message, retryAfterSeconds }: ApiError): void {
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
  // Outside the alert, since screen readers announce an alert again after each change.
  const line = make("p", "", clock, end);
  line.className = "hint";
  notice.after(line);
}
