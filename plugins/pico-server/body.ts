import type { IncomingMessage } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import type { Rejection } from "./refusals.ts";

/** After half a minute, what comes slower than this is given up. */
const graceMs = 30_000;
const checkMs = 5_000;
const minBytesPerSecond = 16 * 1024;
const busyRejection: Rejection = {
  code: "busy",
  message: "Too much waits for the application; try again shortly.",
};

export interface BodyOptions {
  readonly most: number;
  readonly clock: Clock;
  /** `false`: there is no room for so many bytes more. */
  readonly take: (bytes: number) => boolean;
}

/** What has come so far; nothing is taken any more once it was answered. */
interface BodyProgress {
  bytes: number;
  isAnswered: boolean;
}

/** The whole body, or why it was not taken. Undefined: the peer went away. */
export async function readBody(
  q: IncomingMessage,
  options: BodyOptions,
): Promise<Buffer | Rejection | undefined> {
  const { clock } = options;
  const progress: BodyProgress = { bytes: 0, isAnswered: false };
  let passedMs = 0; // counted: the clock may be set meanwhile
  let timer: unknown;
  const tooSlow = new Promise<Rejection>((give) => {
    const checkIn = (ms: number): void =>
      void (timer = clock.setTimeout(() => {
        passedMs += ms;
        if (progress.bytes < (passedMs / 1_000) * minBytesPerSecond)
          give({ code: "request_timeout" });
        else checkIn(checkMs);
      }, ms));
    checkIn(graceMs);
  });
  try {
    return await Promise.race([tooSlow, collectBody(q, options, progress)]);
  } finally {
    progress.isAnswered = true;
    clock.clearTimeout(timer);
  }
}

async function collectBody(
  q: IncomingMessage,
  { most, take }: BodyOptions,
  progress: BodyProgress,
): Promise<Buffer | Rejection | undefined> {
  const type = (q.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
  if (type !== "application/json") return { code: "unsupported_media_type" };
  if (Number(q.headers["content-length"] ?? 0) > most) return { code: "body_too_large" };
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of q.iterator({ destroyOnReturn: false })) {
      if (progress.isAnswered) return undefined;
      progress.bytes += (chunk as Buffer).byteLength;
      if (progress.bytes > most) return { code: "body_too_large" };
      if (!take((chunk as Buffer).byteLength)) return busyRejection;
      chunks.push(chunk as Buffer);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}
