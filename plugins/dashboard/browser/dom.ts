// Creates and updates DOM elements.

/** Base path of the dashboard, empty at the root. */
export const base = document.querySelector<HTMLMetaElement>('meta[name="base"]')?.content ?? "";

/** Returns the element that shows the live value `name`. */
export function live(name: string): HTMLElement | undefined {
  return document.querySelector<HTMLElement>(`[data-live="${name}"]`) ?? undefined;
}

/** Writes only changed text, which preserves selections and avoids screen reader output. */
export function setText(element: Element | null | undefined, text: string): void {
  if (element && element.textContent !== text) element.textContent = text;
}

export function setLive(name: string, text: string): void {
  setText(live(name), text);
}

/** Creates an element with text, followed by children. */
export function make(tag: string, text: string, ...children: readonly Node[]): HTMLElement {
  const element = document.createElement(tag);
  element.textContent = text;
  element.append(...children);
  return element;
}

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * Creates an element. `true` sets an empty attribute; `false` and `undefined` set none. String
 * children become text, never markup.
 */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly (Node | string | undefined | false)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== undefined && child !== false));
  return element;
}

/** Creates a button that does not submit a form. */
export function button(text: string, kind: string, act: () => unknown): HTMLButtonElement {
  const made = el("button", { type: "button", class: kind }, text);
  onClick(made, act);
  return made;
}

/** Runs `act` on click. Ignores clicks while it is running. */
export function onClick(made: HTMLElement, act: () => unknown): void {
  let isBusy = false;
  made.addEventListener("click", async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      await act();
    } finally {
      isBusy = false;
    }
  });
}

/** Shows or hides an element. Does not write an unchanged attribute. */
export function show(element: HTMLElement | undefined | null, shown: boolean): void {
  if (element && element.hidden === shown) element.hidden = !shown;
}
