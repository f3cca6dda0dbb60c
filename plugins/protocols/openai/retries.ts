// Recognises the requests that the OpenAI libraries repeat on their own.
import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { readHeader } from "../session.ts";

/** A client counts its time from an earlier moment than the server does. */
const toleranceMs = 500;

/** Whether the client is one of the libraries that repeat requests. */
const countsRetries = ({ headers }: IncomingMessage): boolean =>
  headers["x-stainless-retry-count"] !== undefined;

/**
 * True if the library closes the connection because the time that it waits has passed: it will
 * send the request again.
 *
 * @param elapsedMs - Milliseconds since the request arrived.
 */
export function hasTimedOut(request: IncomingMessage, elapsedMs: number): boolean {
  const { headers } = request;
  const given = headers["x-stainless-timeout"] ?? headers["x-stainless-read-timeout"];
  const seconds = Number(given ?? Number.NaN);
  return countsRetries(request) && elapsedMs >= seconds * 1_000 - toleranceMs;
}

/** The token, address, path and body of a request. `digest`: of the whole body. */
export function retryKeyOf(request: IncomingMessage, address: string, digest: string): string {
  const { headers, url } = request;
  return hash("sha256", JSON.stringify([headers.authorization, address, url, digest]));
}

/** Whether the library says that it sends the request again. */
export const isRetry = (request: IncomingMessage): boolean =>
  /^[1-9]\d{0,2}$/.test(readHeader(request, "x-stainless-retry-count") ?? "0");
