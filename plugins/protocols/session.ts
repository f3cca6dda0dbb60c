// Reads headers of a request: session, hops and client. Checks and shortens ids.
import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isSessionId } from "../../lib/pico-wire/index.ts";
import { unsupported } from "./fields.ts";
import { refuse } from "./errors.ts";

const maxHeaderBytes = 256;
const maxProductLength = 60;

/** Reads a header as UTF-8. Empty headers count as absent. */
export function readHeader(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  if (typeof value !== "string" || value.trim() === "") return undefined;
  const bytes = Buffer.from(value.trim(), "latin1");
  if (bytes.byteLength > maxHeaderBytes) {
    const message = `The header ${name} may have at most ${maxHeaderBytes} bytes.`;
    throw unsupported(name, message);
  }
  return bytes.toString("utf8");
}

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

/** Bridges that the request has crossed. */
export function readHops(request: IncomingMessage): number {
  const text = readHeader(request, "x-doorward-hops") ?? "0";
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw refuse("loop", "X-Doorward-Hops must be a number.");
}

/** Header values are Latin-1, names are UTF-8. */
export const toHeaderText = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

/** Formats the parts of a request that were not applied, for a header of at most 512 bytes. */
export function toIgnored(names: readonly string[]): string {
  const list = names.toSorted().slice(0, 40).join(", ");
  return list.length > 512 ? list.slice(0, list.lastIndexOf(",", 512)) : list;
}

/** Whether the channel takes this id of a message. */
export const isMessageId = isSessionId;

export const shortDigest = (text: string): string => hash("sha256", text, "hex").slice(0, 32);
