// Recognises the requests that the OpenAI libraries repeat on their own.
import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { readHeader } from "../session.ts";
import type { RequestIds } from "./session.ts";

const maxRequests = 1_000;
const keepMs = 600_000;
/** A client counts its time from an earlier moment than the server does. */
const toleranceMs = 500;

/** The ids of a request that a client may repeat. */
interface EarlierRequest {
  readonly ids: RequestIds;
  /** The session of the channel. */
  readonly session: string;
  /** Monotonic milliseconds. */
  readonly at: number;
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

/** Requests of the last ten minutes: token, address, path and digest of the body -> ids. */
export class ClientRetries {
  private readonly requests = new Map<string, EarlierRequest>();
  private readonly now: () => number;

  /** @param now - Monotonic time in milliseconds. */
  constructor(now: () => number) {
    this.now = now;
  }

  /** @param digest - Of the whole body. */
  keyOf(request: IncomingMessage, address: string, digest: string): string {
    const { headers, url } = request;
    return hash("sha256", JSON.stringify([headers.authorization, address, url, digest]));
  }

  /** Returns the request that this one repeats. */
  find(request: IncomingMessage, key: string): EarlierRequest | undefined {
    const count = readHeader(request, "x-stainless-retry-count") ?? "0";
    const earlier = this.requests.get(key);
    const isRecent = earlier !== undefined && this.now() - earlier.at < keepMs;
    return /^[1-9]\d{0,2}$/.test(count) && isRecent ? earlier : undefined;
  }

  add(key: string, request: Pick<EarlierRequest, "ids" | "session">): void {
    this.requests.delete(key);
    this.requests.set(key, { ...request, at: this.now() });
    const [oldest] = this.requests.size > maxRequests ? this.requests.keys() : [];
    if (oldest !== undefined) this.requests.delete(oldest);
  }
}
