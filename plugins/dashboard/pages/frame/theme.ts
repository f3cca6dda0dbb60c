/** The chosen theme: a cookie that the server reads, so that no page flashes. @module */
import { signal } from "@preact/signals";
import { base } from "../live/base.ts";
import type { Theme } from "../site.tsx";

const maxAgeSeconds = 400 * 24 * 3600;

/** The chosen theme. The document starts it. */
export const theme = signal<Theme>("system");

/** Shows a theme and keeps it for the next pages. */
export function setTheme(chosen: Theme): void {
  theme.value = chosen;
  const { dataset } = document.documentElement;
  if (chosen === "system") delete dataset["theme"];
  else dataset["theme"] = chosen;
  const age = chosen === "system" ? 0 : maxAgeSeconds;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `theme=${chosen}; Path=${base()}/; Max-Age=${age}; SameSite=Lax${secure}`;
}

/** Changes between light and dark, starting from what the page shows. */
export function toggleTheme(): void {
  const isDark =
    theme.value === "dark" ||
    (theme.value === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  setTheme(isDark ? "light" : "dark");
}
