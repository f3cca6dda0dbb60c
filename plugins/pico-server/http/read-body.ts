// Reads the JSON body of a request within limits on size, memory and rate.
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../kernel/index.ts";
import type { Rejection } from "../handshake/rejection.ts";

/** The slowest allowed rate applies after this time. */
const graceMs = 30_000;
const checkMs = 5_000;
const minBytesPerSecond = 16 * 1024;
const busyRejection: Rejection = {
  code: "busy",
  message: "Too many messages wait for the application. Try again shortly.",
};

interface BodyOptions {
  readonly maxBytes: number;
  readonly clock: Clock;
  /** Reserves memory for `bytes` more. Returns `false` if the memory budget has no room. */
  readonly reserve: (bytes: number) => boolean;
}

interface BodyProgress {
  bytes: number;
  /** A response was chosen, so further bytes are not read. */
  isDone: boolean;
}

/** @returns The body, the reason to reject it, or undefined if the client closed the connection. */
export async function readBody(
  request: IncomingMessage,
  options: BodyOptions,
): Promise<Buffer | Rejection | undefined> {
  const { clock } = options;
  const progress: BodyProgress = { bytes: 0, isDone: false };
  let passedMs = 0; // summed up from the timers, because the clock may be set in the meantime
  let timer: unknown;
  const tooSlow = new Promise<Rejection>((resolve) => {
    const checkIn = (ms: number): void =>
      void (timer = clock.setTimeout(() => {
        passedMs += ms;
        if (progress.bytes < (passedMs / 1_000) * minBytesPerSecond)
          resolve({ code: "request_timeout" });
        else checkIn(checkMs);
      }, ms));
    checkIn(graceMs);
  });
  try {
    return await Promise.race([tooSlow, collectBody(request, options, progress)]);
  } finally {
    progress.isDone = true;
    clock.clearTimeout(timer);
  }
}

async function collectBody(
  request: IncomingMessage,
  { maxBytes, reserve }: BodyOptions,
  progress: BodyProgress,
): Promise<Buffer | Rejection | undefined> {
  const type = (request.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
  if (type !== "application/json") return { code: "unsupported_media_type" };
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return { code: "body_too_large" };
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      if (progress.isDone) return undefined;
      progress.bytes += (chunk as Buffer).byteLength;
      if (progress.bytes > maxBytes) return { code: "body_too_large" };
      if (!reserve((chunk as Buffer).byteLength)) return busyRejection;
      chunks.push(chunk as Buffer);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}
