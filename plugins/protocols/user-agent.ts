// Names a client by the product in its User-Agent header.
import type { IncomingMessage } from "node:http";

const maxProductLength = 60;

/**
 * Reads the first product of the User-Agent header, without its version. `OpenAI/Python 2.1` is
 * `OpenAI/Python`, and `curl/8.5.0` is `curl`.
 *
 * @returns An empty string if there is none.
 */
export function productOf({ headers }: IncomingMessage): string {
  const [first = ""] = (headers["user-agent"] ?? "").slice(0, 256).split(" ", 1);
  const product = first.replace(/\/v?\d.*$/, "").slice(0, maxProductLength);
  return /^[\w!#$%&'*+.^`|~/-]+$/.test(product) ? product : "";
}

/** Returns the name of a client for people, such as `OpenAI client (curl)`. All browsers name the
 *  product Mozilla, which says nothing. */
export function toClientName(title: string, request: IncomingMessage): string {
  const product = productOf(request);
  return product === "" || product === "Mozilla" ? title : `${title} (${product})`;
}
