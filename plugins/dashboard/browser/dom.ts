/** The path under which the dashboard is served; empty at the root. */
export const base = document.querySelector<HTMLMetaElement>('meta[name="base"]')?.content ?? "";

/** The element that shows the live value `name`. */
export function live(name: string): HTMLElement | undefined {
  return document.querySelector<HTMLElement>(`[data-live="${name}"]`) ?? undefined;
}

/** Writes only what changed, so that a selection or a screen reader is not disturbed. */
export function setText(element: Element | null | undefined, text: string): void {
  if (element && element.textContent !== text) element.textContent = text;
}

export function setLive(name: string, text: string): void {
  setText(live(name), text);
}

/** An element with a text, and children after it. */
export function make(tag: string, text: string, ...children: readonly Node[]): HTMLElement {
  const element = document.createElement(tag);
  element.textContent = text;
  element.append(...children);
  return element;
}

/** Replaces the rows of a list when `key` says that they differ from those shown. */
export function setRows(
  list: HTMLElement | undefined,
  key: unknown,
  rows: () => readonly Node[],
): void {
  const wanted = JSON.stringify(key);
  if (!list || list.dataset["key"] === wanted) return;
  list.dataset["key"] = wanted;
  list.replaceChildren(...rows());
}

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** An element with attributes (`true` is an empty one, `false` and `undefined` none) and children; text stays text. */
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

/** A button that submits nothing. */
export function button(text: string, kind: string, act: () => unknown): HTMLButtonElement {
  const made = el("button", { type: "button", class: kind }, text);
  onClick(made, act);
  return made;
}

/** Acts at a click, and not again before that is done. */
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

/** Shows or hides without touching what is as it should be. */
export function show(element: HTMLElement | undefined | null, shown: boolean): void {
  if (element && element.hidden === shown) element.hidden = !shown;
}
