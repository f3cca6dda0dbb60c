/** Script of the setup: checks the token rules while the user types, and sends the form. @module */
import { codeFailures } from "../../shared/doorway-failures.ts";
import { tokenRules, violatedRules } from "../../shared/token-rules.ts";
import { startCountdown } from "./countdown.ts";
import { enableRevealing, setShown } from "./reveal.ts";

const find = <T extends HTMLElement>(selector: string): T => document.querySelector<T>(selector)!;
const form = find<HTMLFormElement>("[data-setup]");
const button = find<HTMLButtonElement>("[data-setup] .primary");
const [code, token, confirm, own] = ["#code", "#token", "#confirm", "#own"].map(
  find<HTMLInputElement>,
) as [HTMLInputElement, HTMLInputElement, HTMLInputElement, HTMLInputElement];
const ownFields = [token, confirm];
const copyButton = document.querySelector("[data-copy]");
let stopCountdown = startCountdown({ button, field: code });

enableRevealing(loadToken);
copyButton?.addEventListener("click", copyToken);
for (const field of ownFields) {
  field.addEventListener("input", () => {
    field.setCustomValidity("");
    showRules();
  });
}
showRules();
// Errors in the custom token must not block the form once the generated token is selected.
form.addEventListener("change", () => {
  if (!own.checked) for (const field of ownFields) field.setCustomValidity("");
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!own.checked || isOwnTokenValid()) void finishSetup();
});
document.documentElement.dataset["ready"] = "";

/** Sends the form by `fetch`. Its Origin header is set, so the setup cookie is sufficient. */
async function finishSetup(): Promise<void> {
  stopCountdown();
  button.disabled = true;
  const typed = code.value.trim();
  const answer = await post(form.action, {
    ...(typed && { code: typed }),
    ...(own.checked
      ? { token: token.value.trim(), confirm: confirm.value.trim() }
      : { keep: true }),
  });
  button.disabled = false;
  button.focus();
  if (answer.status === 200) openDashboard();
  else showError(answer);
}

/** Fetches the generated token into its field. @returns False if the server did not send it. */
async function loadToken(field: HTMLInputElement): Promise<boolean> {
  if (field.id !== "generated" || field.value !== "") return true;
  const answer = await post(`${form.action}/token`, {});
  if (answer.token) field.value = answer.token;
  else showError(answer);
  return field.value !== "";
}

/** Copies the generated token. If the browser denies it, the token is shown and selected. */
async function copyToken(): Promise<void> {
  const field = find<HTMLInputElement>("#generated");
  if (!(await loadToken(field))) return;
  let text = "Copied";
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    // Plain HTTP has no clipboard. A selected text can be copied there.
    setShown(field, true);
    field.select();
    if (!document.execCommand("copy")) text = "Can't copy";
  }
  copyButton!.textContent = find("[data-copied]").textContent = text;
  setTimeout(() => {
    copyButton!.textContent = "Copy";
  }, 1600);
}

interface Answer {
  /** The generated token. */
  readonly token?: string;
  /** 0 if there is no response. */
  readonly status: number;
  readonly error?: string;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

/** Sends one request and parses the JSON response. Never rejects. */
async function post(address: string, body: object): Promise<Answer> {
  try {
    const response = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      cache: "no-store",
      signal: AbortSignal.timeout(60_000),
    });
    return { ...((await response.json()) as Answer), status: response.status };
  } catch {
    return { status: 0, message: "The service does not respond." };
  }
}

function openDashboard(): void {
  location.replace(new URL(".", form.action));
}

function showError({ status, error, message, retryAfterSeconds }: Answer): void {
  if (status === 409) return openDashboard(); // setup was completed in another browser
  const isExpired = status === 401 && code.value === "";
  const text = codeFailures[error ?? ""] ?? message;
  showFailure(
    isExpired ? "The setup link has expired. Paste the generated token." : text,
    retryAfterSeconds,
  );
  if (status === 401) askForCode();
  if (status === 422) token.focus();
}

function askForCode(): void {
  delete form.dataset["hasCookie"];
  code.required = true;
  code.focus();
}

function showFailure(text: string, retryAfterSeconds: number | undefined): void {
  const timer = find('[role="timer"]');
  timer.textContent = find("[data-countdown-end]").textContent = "";
  delete timer.dataset["countdown"];
  if (retryAfterSeconds !== undefined)
    timer.dataset["countdown"] = String(Math.ceil(retryAfterSeconds));
  find("[data-failure]").hidden = false;
  find("#failure").textContent = text;
  stopCountdown = startCountdown({ button, field: code });
}

/** Reports problems through the validation messages of the browser. */
function isOwnTokenValid(): boolean {
  const [violated] = violatedRules(token.value.trim());
  token.setCustomValidity(violated ? `Required: ${rulePlace(violated.id).textContent}.` : "");
  const isSame = token.value.trim() === confirm.value.trim();
  confirm.setCustomValidity(isSame ? "" : "The two entries differ.");
  return token.reportValidity() && confirm.reportValidity();
}

function rulePlace(id: string): HTMLElement {
  return find(`[data-rule="${id}"]`);
}

function showRules(): void {
  const typed = token.value.trim();
  const violated = violatedRules(typed);
  for (const rule of tokenRules) {
    const isMet = typed !== "" && !violated.includes(rule);
    rulePlace(rule.id).classList.toggle("met", isMet);
  }
  const status = typed === "" ? "" : rulesStatus(violated.length, typed, confirm.value.trim());
  const place = find("[data-rules-status]");
  if (place.textContent !== status) place.textContent = status;
}

function rulesStatus(violations: number, typed: string, again: string): string {
  if (violations > 0)
    return violations === 1 ? "1 rule is not met yet." : `${violations} rules are not met yet.`;
  if (again === "") return "All rules are met. Confirm your token.";
  return typed === again ? "All rules are met, and both entries match." : "The two entries differ.";
}
