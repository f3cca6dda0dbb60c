/** Keyboard shortcuts of every page. @module */
import { isComposing } from "../live/composition.ts";
import { signal } from "@preact/signals";
import { base } from "../live/base.ts";
import { keep, readStored } from "../live/storage.ts";
import { closeLayer, layer, openLayer } from "./layer-state.ts";
import { helpPages, mainPages } from "./navigation.ts";
import { toggleTheme } from "./theme.ts";

/** Time for the second key after `g`. */
const sequenceMs = 1500;
const storageKey = "doorward-shortcuts";

/** False if the user turned off shortcuts with a single key. */
export const areShortcutsOn = signal(true);

export function setShortcuts(isOn: boolean): void {
  areShortcutsOn.value = isOn;
  keep(storageKey, isOn ? undefined : "off");
}

const pageKeys = new Map<string, () => unknown>();

/**
 * Adds shortcuts with a single key for the page, for example `{ f: follow }`.
 *
 * @returns Removes them.
 */
export function addShortcuts(keys: Readonly<Record<string, () => unknown>>): () => void {
  for (const [key, act] of Object.entries(keys)) pageKeys.set(key, act);
  return () => {
    for (const key of Object.keys(keys)) pageKeys.delete(key);
  };
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.closest('input, textarea, select, dialog, [contenteditable], [role="menu"]') !== null;

/** Listens to the keys of the page. */
export function startShortcuts(): void {
  areShortcutsOn.value = readStored(storageKey) !== "off";
  let sequenceUntil = 0;
  addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && !event.altKey && key === "k") {
      event.preventDefault();
      if (layer.value === "palette") closeLayer();
      else openLayer("palette");
      return;
    }
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !isComposing(event);
    if (!isPlain || !areShortcutsOn.value || event.defaultPrevented || isField(event.target))
      return;
    const isSequence = event.timeStamp < sequenceUntil;
    sequenceUntil = 0;
    if (isSequence && goTo(key)) return event.preventDefault();
    if (key === "g") sequenceUntil = event.timeStamp + sequenceMs;
    else if (act(event.key)) event.preventDefault();
  });
}

function goTo(key: string): boolean {
  const page = [...mainPages, ...helpPages].find((one) => one.key === key);
  if (page) location.assign(base() + page.path);
  return page !== undefined;
}

function act(key: string): boolean {
  const own = pageKeys.get(key);
  if (own) own();
  else if (key === "?") openLayer("shortcuts");
  else if (key === "t") toggleTheme();
  else if (key === "n") location.assign(`${base()}/chat/new`);
  else if (key === "/") return focusMainField();
  else return false;
  return true;
}

function focusMainField(): boolean {
  const field = document.querySelector<HTMLElement>("[data-main-field]");
  field?.focus();
  return field !== null;
}
