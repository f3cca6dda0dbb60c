/** Remembers the latest choices of the command palette in this browser. @module */

const storageKey = "doorward-recent";
const maxKept = 10;

/** @returns The names of the latest choices, newest first. */
export function readRecent(): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageKey) ?? "[]");
    return Array.isArray(kept) ? kept.filter((name) => typeof name === "string") : [];
  } catch {
    return []; // The browser denies storage, or something else wrote the entry.
  }
}

export function rememberChoice(name: string): void {
  const names = [name, ...readRecent().filter((one) => one !== name)].slice(0, maxKept);
  try {
    localStorage.setItem(storageKey, JSON.stringify(names));
  } catch {
    // Without storage, the palette lists no recent choices.
  }
}
