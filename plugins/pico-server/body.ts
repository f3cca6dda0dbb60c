import type { IncomingMessage } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import type { Refusal } from "./refusals.ts";

/** After half a minute, what comes slower than this is given up. */
const graceMs = 30_000;
const checkMs = 5_000;
const leastPerSecond = 16 * 1024;

/** The whole body, or why it was not taken. Undefined: the peer went away. */
export async function readBody(q: IncomingMessage, most: number, clock: Clock): Promise<Buffer | Refusal | undefined> {
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
    return await Promise.race([tooSlow, collect(q, most, (count) => void (bytes = count))]);
  } finally {
    clock.clearTimeout(timer);
  }
}

async function collect(
  q: IncomingMessage, most: number, progress: (bytes: number) => void,
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
      chunks.push(chunk as Buffer);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}
