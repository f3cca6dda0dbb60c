import { setText } from "./dom.ts";

/** A right token of this length is let through while others wait, so the button must be, too. */
export const alwaysTried = 43;

/** Counts the `data-countdown` seconds down; until then `button` works only for a `field` long enough to pass. Answers
 *  what ends it early. */
export function enableCountdown(
  button: HTMLButtonElement | null,
  field: HTMLInputElement | null,
): () => void {
  const clock = document.querySelector<HTMLElement>("[data-countdown]");
  if (!clock || !button) return () => undefined;
  const end = Date.now() + Number(clock.dataset["countdown"]) * 1000;
  const update = (): void => {
    const left = Math.ceil((end - Date.now()) / 1000);
    button.disabled = left > 0 && (field?.value.trim().length ?? 0) < alwaysTried;
    setText(clock, left > 0 ? `Try again in ${left} s.` : "");
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
