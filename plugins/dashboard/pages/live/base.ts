/** Base path of the dashboard in the browser. @module */

/** @returns The base path, empty at the root. */
export const base = (): string =>
  document.querySelector<HTMLMetaElement>('meta[name="base"]')?.content ?? "";
