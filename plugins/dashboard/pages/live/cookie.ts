/** Cookies that the server reads when it renders a page. They contain no secret. @module */
import { base } from "./base.ts";

const maxAgeSeconds = 400 * 24 * 3600;

/** Keeps a choice of the user for the next pages. Undefined removes it. */
export function setCookie(name: "theme" | "guide", value: string | undefined): void {
  const age = value === undefined ? 0 : maxAgeSeconds;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  const attributes = `Path=${base()}/; Max-Age=${age}; SameSite=Lax${secure}`;
  document.cookie = `${name}=${value ?? ""}; ${attributes}`;
}
