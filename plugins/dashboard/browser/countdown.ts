// Disables a form until its rate limit ends.
import { unlimitedTokenLength } from "../ui/text/token-rules.ts";
import { setText } from "./dom.ts";

/**
 * Counts down the `data-countdown` seconds. Until the end, `button` works only if `field` contains
 * a token that bypasses the limit.
 *
 * @returns A function that stops the countdown.
 */
export function enableCountdown(
  button: HTMLButtonElement | null,
  field: HTMLInputElement | null,
): () => void {
  const timeLeft = document.querySelector<HTMLElement>("[data-countdown]");
  if (!timeLeft || !button) return () => undefined;
  const end = Date.now() + Number(timeLeft.dataset["countdown"]) * 1000;
  const update = (): void => {
    const left = Math.ceil((end - Date.now()) / 1000);
    button.disabled = left > 0 && (field?.value.trim().length ?? 0) < unlimitedTokenLength;
    setText(timeLeft, left > 0 ? `Try again in ${left} s.` : "");
    if (left > 0) return;
    stop();
    setText(document.querySelector("[data-countdown-end]"), "You can try again now.");
  };
  const timer = setInterval(update, 250);
  const stop = (): void => {
    clearInterval(timer);
    field?.removeEventListener("input", update);
  };
  field?.addEventListener("input", update);
  update();
  return stop;
}
