// Asks for a token in a dialog before an action.
import { type ApiResult, type ApiError } from "./api.ts";
import { unlimitedTokenLength } from "../ui/text/token-rules.ts";
import { button, el, setText } from "./dom.ts";
import { enableRevealing } from "./reveal.ts";

let dialogCount = 0;

interface TokenPrompt<T> {
  readonly title: string;
  /** One sentence that explains the action. */
  readonly text: string;
  /** Label of the submit button. */
  readonly action: string;
  /** Label of the token field. @defaultValue `"Launcher token"` */
  readonly label?: string;
  /** Label of the cancel button. @defaultValue `"Cancel"` */
  readonly cancel?: string;
  /** More fields, shown above the token field. */
  readonly fields?: HTMLElement;
  /** Sends the request. Returns undefined if `fields` are invalid and already show the problem. */
  readonly send: (token: string) => Promise<ApiResult<T>> | undefined;
  /** Returns true if an error closes the dialog. By default, errors allow another attempt. */
  readonly endsOn?: (error: ApiError) => boolean;
}

/**
 * Asks for a token in a dialog and sends it until the server accepts it.
 *
 * @returns The result, or undefined if the user cancels.
 */
export function askForToken<T>(question: TokenPrompt<T>): Promise<ApiResult<T> | undefined> {
  const id = `secret-${++dialogCount}`;
  const label = question.label ?? "Launcher token";
  const input = el("input", {
    id,
    type: "password",
    autocomplete: "current-password",
    autocapitalize: "none",
    spellcheck: "false",
    required: true,
    "aria-describedby": `${id}-problem`,
  });
  const reveal = el(
    "button",
    {
      type: "button",
      class: "reveal",
      "data-reveal": id,
      "aria-pressed": "false",
      "aria-label": `Show ${label.toLowerCase()}`,
    },
    "Show",
  );
  const problem = el("p", { class: "problem", id: `${id}-problem`, role: "alert" });
  const submit = el("button", {}, question.action);
  const form: HTMLFormElement = el(
    "form",
    { method: "dialog", novalidate: true },
    el("h2", { id: `${id}-title` }, question.title),
    el("p", { id: `${id}-text` }, question.text),
    question.fields,
    el("input", {
      type: "text",
      autocomplete: "username",
      value: "launcher",
      readonly: true,
      hidden: true,
    }),
    el(
      "div",
      { class: "field" },
      el("label", { for: id }, label),
      el("div", { class: "secret" }, input, reveal),
      problem,
    ),
    el(
      "div",
      { class: "actions" },
      button(question.cancel ?? "Cancel", "quiet", () => dialog.close()),
      submit,
    ),
  );
  const dialog: HTMLDialogElement = el(
    "dialog",
    {
      class: "card",
      "aria-labelledby": `${id}-title`,
      "aria-describedby": `${id}-text`,
    },
    form,
  );
  document.body.append(dialog);
  enableRevealing(form);
  return runDialog(question, { dialog, form, input, problem, submit });
}

interface DialogParts {
  readonly dialog: HTMLDialogElement;
  readonly form: HTMLFormElement;
  readonly input: HTMLInputElement;
  readonly problem: HTMLElement;
  readonly submit: HTMLButtonElement;
}

function runDialog<T>(
  { send, endsOn, label = "Launcher token" }: TokenPrompt<T>,
  { dialog, form, input, problem, submit }: DialogParts,
): Promise<ApiResult<T> | undefined> {
  let result: ApiResult<T> | undefined;
  let pending: Promise<unknown> | undefined;
  let stopCountdown = (): void => undefined;
  const showProblem = (text: string): void => {
    setText(problem, text);
    input.setAttribute("aria-invalid", "true");
    input.focus();
    input.select();
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    const token = input.value.trim();
    if (token === "") return showProblem(`Enter the ${label.toLowerCase()}.`);
    const request = send(token);
    if (!request) return;
    stopCountdown(); // otherwise the countdown enables the button during the request
    submit.disabled = true;
    pending = request;
    const response = await request;
    submit.disabled = false;
    if (!("error" in response) || endsOn?.(response.error)) {
      result = response;
      return dialog.close();
    }
    if (!dialog.open) return;
    showProblem(errorMessage(response.error, label));
    stopCountdown = startCountdown(response.error, { submit, input, problem });
  });
  input.addEventListener("input", () => input.removeAttribute("aria-invalid"));
  dialog.showModal();
  if (!form.querySelector("[autofocus]")) input.focus();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      async () => {
        stopCountdown();
        input.value = "";
        dialog.remove();
        await pending; // the server may complete a request sent before the user cancelled
        resolve(result);
      },
      { once: true },
    );
  });
}

function errorMessage({ status, code, message }: ApiError, label: string): string {
  const isWrong = code === "invalid_token" && (status === 401 || status === 403);
  return isWrong
    ? `That is not the ${label.toLowerCase()}. Check that you copied all of it.`
    : message;
}

/**
 * Disables the submit button until the rate limit ends.
 *
 * @returns A function that stops the countdown and enables the button.
 */
function startCountdown(
  { retryAfterSeconds }: ApiError,
  { submit, input, problem }: Pick<DialogParts, "submit" | "input" | "problem">,
): () => void {
  if (retryAfterSeconds === undefined) return () => undefined;
  const end = Date.now() + retryAfterSeconds * 1000;
  const text = problem.textContent;
  const timeLeft = el("span", { role: "timer" });
  problem.append(" ", timeLeft);
  const update = (): void => {
    const left = Math.ceil((end - Date.now()) / 1000);
    submit.disabled = left > 0 && input.value.trim().length < unlimitedTokenLength;
    setText(timeLeft, `Try again in ${left} s.`);
    if (left > 0) return;
    stop();
    if (problem.textContent.startsWith(text)) setText(problem, "You can try again now.");
  };
  const timer = setInterval(update, 250);
  const stop = (): void => {
    clearInterval(timer);
    input.removeEventListener("input", update);
    submit.disabled = false;
  };
  input.addEventListener("input", update);
  update();
  return stop;
}
