import { type Answer, type Refusal } from "./api.ts";
import { alwaysTried } from "./countdown.ts";
import { button, el, setText } from "./dom.ts";
import { enableRevealing } from "./reveal.ts";

let made = 0;

export interface SecretQuestion<T> {
  readonly title: string;
  /** One sentence: what the token is asked for. */
  readonly text: string;
  /** What the button says that sends. */
  readonly action: string;
  readonly label?: string;
  readonly cancel?: string;
  /** Fields above that of the token. */
  readonly fields?: HTMLElement;
  /** Undefined: something in `fields` is not as it should be, and says so itself. */
  readonly send: (token: string) => Promise<Answer<T>> | undefined;
  /** Whether a refusal ends the question; by default none does, so that it can be tried again. */
  readonly endsOn?: (refused: Refusal) => boolean;
}

/** Asks for a token in a dialog and sends it until it is taken; undefined when the person gives up before that. */
export function askForToken<T>(question: SecretQuestion<T>): Promise<Answer<T> | undefined> {
  const id = `secret-${++made}`;
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
  return converse(question, { dialog, form, input, problem, submit });
}

interface Parts {
  readonly dialog: HTMLDialogElement;
  readonly form: HTMLFormElement;
  readonly input: HTMLInputElement;
  readonly problem: HTMLElement;
  readonly submit: HTMLButtonElement;
}

function converse<T>(
  { send, endsOn, label = "Launcher token" }: SecretQuestion<T>,
  { dialog, form, input, problem, submit }: Parts,
): Promise<Answer<T> | undefined> {
  let answer: Answer<T> | undefined;
  let underWay: Promise<unknown> | undefined;
  let release = (): void => undefined;
  const complain = (text: string): void => {
    setText(problem, text);
    input.setAttribute("aria-invalid", "true");
    input.focus();
    input.select();
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    const token = input.value.trim();
    if (token === "") return complain(`Type the ${label.toLowerCase()}.`);
    const sending = send(token);
    if (!sending) return;
    release(); // else it lets the button go
    submit.disabled = true;
    underWay = sending;
    const got = await sending;
    submit.disabled = false;
    if (!("refused" in got) || endsOn?.(got.refused)) {
      answer = got;
      return dialog.close();
    }
    if (!dialog.open) return;
    complain(wordsOf(got.refused, label));
    release = wait(got.refused, { submit, input, problem });
  });
  input.addEventListener("input", () => input.removeAttribute("aria-invalid"));
  dialog.showModal();
  if (!form.querySelector("[autofocus]")) input.focus();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      async () => {
        release();
        input.value = "";
        dialog.remove();
        await underWay; // what was sent may be done: its answer counts, also when nobody waited for it
        resolve(answer);
      },
      { once: true },
    );
  });
}

function wordsOf({ status, code, message }: Refusal, label: string): string {
  const isWrong = code === "invalid_token" && (status === 401 || status === 403);
  return isWrong
    ? `That is not the ${label.toLowerCase()}. Check that you copied all of it.`
    : message;
}

/** Too many wrong tokens: counts down, and opens again by itself. Answers what ends it early. */
function wait(
  { retryAfterSeconds }: Refusal,
  { submit, input, problem }: Pick<Parts, "submit" | "input" | "problem">,
): () => void {
  if (retryAfterSeconds === undefined) return () => undefined;
  const end = Date.now() + retryAfterSeconds * 1000;
  const text = problem.textContent;
  const clock = el("span", { role: "timer" });
  problem.append(" ", clock);
  const update = (): void => {
    const left = Math.ceil((end - Date.now()) / 1000);
    submit.disabled = left > 0 && input.value.trim().length < alwaysTried;
    setText(clock, `Try again in ${left} s.`);
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
