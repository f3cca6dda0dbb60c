// Finds the session and the message id of a request, and recognises repeated requests.
import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { readHeader, shortDigest } from "../session.ts";

/** A client counts its time from an earlier moment than the server does. */
const toleranceMs = 500;
const sessionHeaders = ["x-doorward-session", "x-openwebui-chat-id", "x-conversation-id"];

export interface RequestIds {
  /** The name that the client gave, or a new one. */
  readonly name: string;
  /** The field or header that contains the name. */
  readonly param: string;
  readonly messageId: string;
  /** True if neither the client nor an earlier response names the session. */
  readonly isNew: boolean;
  /** True if the client may repeat the request with the same key. */
  readonly isRepeatable: boolean;
  /** Finds the request if its library repeats it on its own. */
  readonly key?: string;
}

interface RequestIdOptions {
  readonly user: string | undefined;
  readonly newId: () => string;
  /** Name of the session of an earlier response. */
  readonly known?: string | undefined;
  /** Name of the session that asked for the results of the request. */
  readonly asked?: string | undefined;
}

export function readIds(
  request: IncomingMessage,
  { user, newId, known, asked }: RequestIdOptions,
): RequestIds {
  const key = readHeader(request, "idempotency-key");
  let param = "user";
  let given = user || undefined;
  for (const header of sessionHeaders.toReversed()) {
    const value = readHeader(request, header);
    if (value === undefined) continue;
    given = value;
    param = header;
  }
  const named = known ?? given ?? asked ?? (key === undefined ? undefined : shortDigest(key));
  const [name, isNew] = [named ?? newId(), named === undefined];
  const messageId = `oa:${key === undefined ? newId() : shortDigest(key)}`;
  return { name, param, isNew, messageId, isRepeatable: key !== undefined };
}

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
