/** The chosen theme: a cookie that the server reads, so that no page flashes. @module */
import { signal } from "@preact/signals";
import { setCookie } from "../live/cookie.ts";
import type { Theme } from "../site.tsx";

/** The chosen theme. The document starts it. */
export const theme = signal<Theme>("system");

/** Shows a theme and keeps it for the next pages. */
export function setTheme(chosen: Theme): void {
  theme.value = chosen;
  const { dataset } = document.documentElement;
  if (chosen === "system") delete dataset["theme"];
  else dataset["theme"] = chosen;
  setCookie("theme", chosen === "system" ? undefined : chosen);
}

/** Changes between light and dark, starting from what the page shows. */
export function toggleTheme(): void {
  const isDark =
    theme.value === "dark" ||
    (theme.value === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  setTheme(isDark ? "light" : "dark");
}
