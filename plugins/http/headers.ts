import type { ServerResponse } from "node:http";

/** Carried by every answer: pages, data, errors, refused upgrades, and what Node would answer by itself. */
export const securityHeaders: Readonly<Record<string, string>> = {
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
};

const securityHeaderEntries = Object.entries(securityHeaders);

export function setSecurityHeaders(answer: ServerResponse): void {
  for (const [name, value] of securityHeaderEntries) answer.setHeader(name, value);
}
