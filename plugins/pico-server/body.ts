import type { IncomingMessage } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import type { Refusal } from "./refusals.ts";

/** After half a minute, what comes slower than this is given up. */
const graceMs = 30_000;
const checkMs = 5_000;
const leastPerSecond = 16 * 1024;
const full: Refusal = { code: "busy", message: "Too much waits for the application; try again shortly." };

export interface BodyOptions {
  readonly most: number;
  readonly clock: Clock;
  /** `false`: there is no room for so many bytes more. */
  readonly take: (bytes: number) => boolean;
}

/** The whole body, or why it was not taken. Undefined: the peer went away. */
export async function readBody(q: IncomingMessage, options: BodyOptions): Promise<Buffer | Refusal | undefined> {
  const { clock } = options;
  const startedAt = clock.now();
  let bytes = 0;
  let timer: unknown;
  const tooSlow = new Promise<Refusal>((give) => {
    const check = (): void => {
      const seconds = (clock.now() - startedAt) / 1_000;
      if (bytes < seconds * leastPerSecond) give({ code: "request_timeout" });
      else timer = clock.setTimeout(check, checkMs);
    };
    timer = clock.setTimeout(check, graceMs);
  });
  try {
    return await Promise.race([tooSlow, collect(q, options, (count) => void (bytes = count))]);
  } finally {
    clock.clearTimeout(timer);
  }
}

async function collect(
  q: IncomingMessage, { most, take }: BodyOptions, progress: (bytes: number) => void,
): Promise<Buffer | Refusal | undefined> {
  const type = (q.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();
  if (type !== "application/json") return { code: "unsupported_media_type" };
  if (Number(q.headers["content-length"] ?? 0) > most) return { code: "body_too_large" };
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of q.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).byteLength;
      progress(bytes);
      if (bytes > most) return { code: "body_too_large" };
      if (!take((chunk as Buffer).byteLength)) return full;
      chunks.push(chunk as Buffer);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}
