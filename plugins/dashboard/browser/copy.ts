// Copies text to the clipboard.
import { setText } from "./dom.ts";

const feedbackMs = 2500;

/** Makes every `data-copy="<id>"` button copy the text of that element. */
export function enableCopying(root: ParentNode = document): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>("[data-copy]")) {
    const source = document.getElementById(button.dataset["copy"] ?? "");
    if (!source) continue;
    const label = button.textContent;
    let timer: ReturnType<typeof setTimeout> | undefined;
    button.addEventListener("click", async () => {
      setText(button, (await copy(source)) ? "Copied" : `Press ${shortcut()}`);
      clearTimeout(timer);
      timer = setTimeout(() => setText(button, label), feedbackMs);
    });
  }
}

/**
 * Copies the text of an element. If the browser has no clipboard access, as on plain HTTP, selects
 * the text instead.
 *
 * @returns True if the text was copied.
 */
export async function copy(source: HTMLElement): Promise<boolean> {
  if (await copyText(source instanceof HTMLInputElement ? source.value : source.textContent))
    return true;
  select(source);
  return false;
}

/** @returns False if the browser denies clipboard access. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the keyboard shortcut that copies a selection. */
export function shortcut(): string {
  return /mac|iphone|ipad/i.test(navigator.platform) ? "⌘C" : "Ctrl+C";
}

function select(source: HTMLElement): void {
  if (source instanceof HTMLInputElement) {
    source.focus();
    source.select();
    return;
  }
  getSelection()?.selectAllChildren(source);
  source.closest<HTMLElement>("[tabindex]")?.focus();
}
