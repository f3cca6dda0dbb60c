// Fetches attachments of a server, with the token where they are on its own origin.
import type { Attachment } from "../pico-wire/index.ts";
import { authorization } from "./dial.ts";
import { chatError } from "./errors.ts";
import type { Clock } from "./types.ts";

/** Limits of `fetchMedia`. */
export interface MediaLimits {
  /** Bytes. @defaultValue 20 MiB */
  readonly maxBytes?: number;
  /** Milliseconds. @defaultValue 30,000 */
  readonly timeoutMs?: number;
}

export interface MediaSource {
  /** `http:` or `https:` address of the server. */
  readonly base: string;
  readonly token: () => string | Promise<string>;
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly clock: Clock;
}

/**
 * Sends a GET request and reads the response. The token is sent to the server only: requests to
 * other origins have no token, and a redirect from the server is an error.
 *
 * @throws ChatError of `read`; `failure` for anything else, with the cause.
 */
export async function request<T>(
  { base, token, fetch = globalThis.fetch, clock }: MediaSource,
  url: string,
  { timeoutMs, failure }: { readonly timeoutMs: number; readonly failure: string },
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = clock.setTimeout(() => controller.abort(), timeoutMs);
  try {
    const isOwn = new URL(url).origin === new URL(base).origin;
    const response = await fetch(url, {
      ...(isOwn && { headers: authorization(await token()), redirect: "error" }),
      signal: controller.signal,
    });
    return await read(response);
  } catch (cause) {
    if ((cause as Error).name === "ChatError") throw cause;
    throw Object.assign(chatError(failure), { cause });
  } finally {
    clock.clearTimeout(timer);
    controller.abort();
  }
}

/**
 * Fetches an attachment.
 *
 * @throws ChatError `media_too_large`; `media_unavailable` for anything else, with the cause.
 */
export const fetchMedia = (
  { url }: Attachment,
  source: MediaSource,
  { maxBytes = 20 * 1024 * 1024, timeoutMs = 30_000 }: MediaLimits = {},
): Promise<Blob> =>
  request(source, url, { timeoutMs, failure: "media_unavailable" }, async (response) => {
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let size = 0;
    const reader = response.body!.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      size += part.value.length;
      if (size > maxBytes) throw chatError("media_too_large");
      parts.push(part.value);
    }
    return new Blob(parts, { type: response.headers.get("content-type") ?? "" });
  });
