/** Disables a form until its rate limit ends. @module */
import { unlimitedTokenLength } from "../../shared/token-rules.ts";

interface LimitedForm {
  readonly button: HTMLButtonElement;
  /** The token that is limited. */
  readonly field: HTMLInputElement;
}

/**
 * Counts down the seconds of the failure on the page. Until the end, the button works only if the
 * field contains a token that bypasses the limit.
 *
 * @returns A function that stops the countdown.
 */
export function startCountdown({ button, field }: LimitedForm): () => void {
  const timeLeft = document.querySelector<HTMLElement>("[data-countdown]");
  if (!timeLeft) return () => undefined;
  const end = Date.now() + Number(timeLeft.dataset["countdown"]) * 1000;
  const update = (): void => {
    const left = Math.ceil((end - Date.now()) / 1000);
    button.disabled = left > 0 && field.value.trim().length < unlimitedTokenLength;
    const text = left > 0 ? `Try again in ${left} s.` : "";
    // Writing only changed text preserves selections.
    if (timeLeft.textContent !== text) timeLeft.textContent = text;
    if (left > 0) return;
    stop();
    document.querySelector("[data-countdown-end]")!.textContent = "You can try again now.";
  };
  const timer = setInterval(update, 250);
  const stop = (): void => {
    clearInterval(timer);
    field.removeEventListener("input", update);
  };
  field.addEventListener("input", update);
  update();
  return stop;
}
