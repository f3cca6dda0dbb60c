// Creates and updates DOM elements.

/** Writes only changed text, which preserves selections and avoids screen reader output. */
export function setText(element: Element | null | undefined, text: string): void {
  if (element && element.textContent !== text) element.textContent = text;
}

/** Creates an element with text, followed by children. */
export function make(tag: string, text: string, ...children: readonly Node[]): HTMLElement {
  const element = document.createElement(tag);
  element.textContent = text;
  element.append(...children);
  return element;
}
